# SPDX-License-Identifier: Apache-2.0
"""Everything at once on a real Spark, under a watch with the most aggressive legal settings.

64 workers: blocked in each healthy way of blocking.py, used again at many tasks a second, with slow
upstreams and slow consumers; beside them leaks, one of each kind in turn, and a second Spark whose daemon
and JVM are killed. Nobody healthy may be ended, and every leak must be, in time.

REAPER_CHAOS_S   how long (default: 120 s)
"""

import json
import os
import random
import signal
import subprocess
import time

import blocking
import checks
import procs
import pytest
from procs import Proc

LENGTH_S = float(os.environ.get("REAPER_CHAOS_S", "120"))
SEED = int(os.environ.get("REAPER_CHAOS_SEED", "1"))
INTERVAL_S = 1
LEAK_EVERY_S = 3
DOOMED_AT_S = 20
LOAD = ("fan_out", "short", "upstream", "consumer")
LONGEST_S = 5  # that a healthy one is blocked for
END_S = 120  # what the last jobs get
KILLED = ("exited", "killed")


def seconds_of(setting):
    return float(setting.removesuffix("s"))


class Watch:
    """`reaper watch` over some hosts, and what it says."""

    def __init__(self, reaper, hosts):
        argv = [str(reaper.program)]
        for host in hosts:
            argv += ["--host", str(host)]
        for key, value in {**reaper.settings, "reaper.interval": f"{INTERVAL_S}s",
                           "policy.max_kills_per_sweep": "1000",
                           "policy.max_kills_per_hour": "10000"}.items():
            argv += ["--set", f"{key}={value}"]
        self.out, self.err = reaper.home / "watch.out", reaper.home / "watch.err"
        env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8",
               "HOME": str(reaper.home)}
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.child = subprocess.Popen([*argv, "--json", "watch"], env=env, cwd=reaper.home,
                                          stdin=subprocess.DEVNULL, stdout=out, stderr=err)

    def ended(self):
        """Whom it has ended so far."""
        found = set()
        for line in self.out.read_text("utf-8").split("\n")[:-1]:
            event = json.loads(line)
            if event["event"] == "action" and event["outcome"] in KILLED:
                found.add(Proc(event["pid"], event["start"]))
        return found

    def stop(self):
        self.child.send_signal(signal.SIGTERM)
        assert self.child.wait(20) == 0, self.err.read_text()


class Leak:
    """One that a job leaves behind, and when."""

    def __init__(self, spark, kind):
        self.spark, self.kind = spark, kind
        self.label = spark.begin("abandoned", kind=kind)
        self.who = self.fenced_ms = self.gone_ms = None

    def look(self):
        """Notes what has happened since the last look."""
        if self.fenced_ms is None and self.spark.over(self.label):
            answer = self.spark.end(self.label, 1)
            assert answer["failed"] is None, answer["failed"]
            self.who, self.fenced_ms = self.spark.noted(self.label, 1), answer["at"]
        if self.fenced_ms is not None and self.gone_ms is None and not procs.alive(self.who):
            self.gone_ms = procs.boottime_ms()

    def late_s(self):
        return (self.gone_ms - self.fenced_ms) / 1000


class Doomed:
    """A Spark of which the daemon and then the JVM are killed, with a leak of it and a pooled worker."""

    def __init__(self, start_spark):
        self.spark = start_spark("doomed", master="local[4]")
        self.spark.pool(2)
        self.left = None

    def kill(self):
        label = self.spark.begin("abandoned", kind="stuck_poll")
        self.spark.value(label)
        self.left = self.spark.noted(label)
        for daemon in self.spark.daemons():
            procs.send(daemon, signal.SIGKILL)
        procs.send(self.spark.jvm_proc, signal.SIGKILL)


def run_chaos(spark, watch, doomed):
    """Seeds leaks for so long; gives them back."""
    kinds, leaks = list(blocking.LEAKS), []
    random.Random(SEED).shuffle(kinds)
    began = time.monotonic()
    while time.monotonic() - began < LENGTH_S or len(leaks) < len(kinds):
        assert watch.child.poll() is None, watch.err.read_text()
        passed = time.monotonic() - began
        if passed >= len(leaks) * LEAK_EVERY_S:
            leaks.append(Leak(spark, kinds[len(leaks) % len(kinds)]))
        if passed >= DOOMED_AT_S and doomed.left is None:
            doomed.kill()
        for leak in leaks:
            leak.look()
        time.sleep(0.2)
    return leaks


def end_jobs(spark, load, blocked):
    """Lets all jobs come to their end; none of them may have noticed anything."""
    (spark.notes / "enough").touch()
    rounds, wrong, attempt = spark.value(blocked, END_S)
    assert rounds >= 3 and not wrong and attempt == 0, (rounds, wrong, attempt)
    for kind, label in load.items():
        count, attempt = spark.value(label, END_S)
        assert count >= 2 and attempt == 0, (kind, count, attempt)
    failed = spark.ask("failed-tasks")
    assert failed["failed"] == failed["unknown"] == 0, failed
    log = spark.log.read_text("utf-8", "replace")
    assert "Lost task" not in log and "Python worker exited" not in log, spark.log_tail(200)
    return rounds


@pytest.mark.skipif("ASAN_OPTIONS" in os.environ, reason="it is about time")
def test_chaos(start_spark, reaper_for, capsys):
    spark = start_spark("chaos", master="local[64]")
    doomed = Doomed(start_spark)
    reaper = reaper_for(spark)
    bound_s = sum(seconds_of(reaper.settings[f"policy.{name}"])
                  for name in ("timeout", "term_grace", "kill_grace")) + 2 * INTERVAL_S
    spark.pool(2)
    spark.run("pooled_udf")
    watch = Watch(reaper, [spark.jvm, doomed.spark.jvm])
    try:
        blocked = spark.begin("blocked", kinds=list(blocking.HEALTHY), seconds=LONGEST_S)
        load = {kind: spark.begin("mixed_load", kind=kind, seconds=LENGTH_S + END_S)
                for kind in LOAD}
        leaks = run_chaos(spark, watch, doomed)
        rounds = end_jobs(spark, load, blocked)
        procs.until("the last leaks end",
                    lambda: [leak.look() for leak in leaks] and all(leak.gone_ms for leak in leaks),
                    checks.LATE_S)
        procs.until("the worker of the dead JVM ends", lambda: not procs.alive(doomed.left),
                    checks.LATE_S)
        watch.stop()
        stray = watch.ended() - {leak.who for leak in leaks} - {doomed.left}
        late = {leak.kind: leak.late_s() for leak in leaks if leak.late_s() > bound_s}
        with capsys.disabled():
            print(f"\n{rounds} rounds of {len(blocking.HEALTHY)} healthy ways to block, the latest "
                  f"leak was gone after {max(leak.late_s() for leak in leaks):.1f} s\n"
                  f"figure leaks among healthy workers of a real Spark: {len(leaks)} leaks, "
                  f"{len(stray) + len(late)} wrong")
        assert not stray, f"ended, and not leaked: {stray}"
        assert not late, f"later than {bound_s} s: {late}"
        checks.next_job_works(spark)
    finally:
        if watch.child.poll() is None:
            watch.child.kill()
            watch.child.wait()
        doomed.spark.close()
        spark.close()
