# SPDX-License-Identifier: Apache-2.0
"""What test_chaos.py lets loose: leaks, Sparks that are killed, a clock that is stepped."""

import json
import os
import pathlib
import random
import signal
import struct
import subprocess
import threading
import time

import blocking
import procs
from procs import Proc
from sparkhost import SparkHang

HERE = pathlib.Path(__file__).resolve().parent
INTERVAL_S = 1
LENGTH_S = int(os.environ.get("REAPER_CHAOS_S", "120"))
# A leak must not end by itself: one whose end was told before the clock was stepped is there until the test
# comes to its own end.
LIFE_S = 900 + 4 * LENGTH_S
KILLED = ("exited", "killed")
STEP_MOST_S = 40  # from what it is: by two minutes, Spark itself takes its executor for lost
JOB_S = 120
LOAD_S = 24 * 3600  # or until the test has seen enough
# Three Sparks run all that two processors can, ten times over. Who bounds how late a watch may be gives it its
# turn, and so the test that sees whom it ended.
NICE = 10


class Watch:
    """`reaper watch` over one host, and what it says."""

    def __init__(self, reaper, env=None, **settings):
        argv = [str(reaper.program), *reaper.options]
        for key, value in {**reaper.settings, "reaper.interval": f"{INTERVAL_S}s",
                           "policy.max_kills_per_sweep": "1000",
                           "policy.max_kills_per_hour": "10000",
                           "policy.idle_cpu": "100%", **settings}.items():
            argv += ["--set", f"{key}={value}"]
        self.out, self.err = reaper.home / "watch.out", reaper.home / "watch.err"
        env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8",
               "HOME": str(reaper.home), **(env or {})}
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.child = subprocess.Popen([*argv, "--json", "watch"], env=env, cwd=reaper.home,
                                          stdin=subprocess.DEVNULL, stdout=out, stderr=err)

    def works(self):
        assert self.child.poll() is None, self.err.read_text()

    def actions(self):
        """What it has ended so far: its identity, and the proof."""
        found, proofs = {}, {}
        for line in self.out.read_text("utf-8").split("\n")[:-1]:
            event = json.loads(line)
            if event["event"] == "verdict" and event.get("verdict") == "reap":
                proofs[Proc(event["pid"], event["start"])] = event["reason"]
            if event["event"] == "action" and event["outcome"] in KILLED:
                who = Proc(event["pid"], event["start"])
                found[who] = proofs.get(who)
        return found

    def ended(self):
        return set(self.actions())

    def said_of(self, who):
        """Each event, and when it was, on the clock of procs.boottime_ms()."""
        ahead_ms = time.time() * 1000 - procs.boottime_ms()
        events = map(json.loads, self.out.read_text("utf-8").split("\n")[:-1])
        return [(event["time"] - ahead_ms, event.get("outcome") or event.get("reason"))
                for event in events if (event.get("pid"), event.get("start")) == who]

    def at_rest_ms(self, who, since_ms):
        """From then on, or from the look before the first at which none of its threads ran, whether it was seen
        at the first or at the second glance: at the others nobody is due. Those of gRPC wake for ever, and who
        waits for a processor that others take runs."""
        said = self.said_of(who)
        seen_ms = [then_ms for (_, what), (then_ms, _) in zip(said, said[1:]) if what in ("running", "spared")]
        return max([since_ms, *(then_ms - INTERVAL_S * 1000 for then_ms in seen_ms)])

    def stop(self):
        self.child.send_signal(signal.SIGTERM)
        assert self.child.wait(20) == 0, self.err.read_text()

    def close(self):
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait()


class Leak:
    """One that a job leaves behind, and when."""

    def __init__(self, spark, kind):
        self.spark, self.kind = spark, kind
        self.label = spark.begin("abandoned", kind=kind, life=LIFE_S)
        self.who = self.fenced_ms = self.gone_ms = None

    def look(self):
        """Asks whether its job is over: then nobody needs it any more."""
        if self.fenced_ms is None and self.spark.over(self.label):
            answer = self.spark.end(self.label, 1)
            assert answer["failed"] is None, answer["failed"]
            self.fenced_ms = answer["at"]

    def look_for_it(self):
        """Notes its end; asks nobody."""
        if self.who is None and (self.spark.notes / self.label).exists():
            self.who = self.spark.noted(self.label, 1)
        if self.who and self.gone_ms is None and not procs.alive(self.who):
            self.gone_ms = procs.boottime_ms()

    def is_over(self):
        self.look()
        return self.fenced_ms is not None and self.gone_ms is not None

    def late_s(self, watch):
        """Since it was fenced, and at rest."""
        return (self.gone_ms - watch.at_rest_ms(self.who, self.fenced_ms)) / 1000

    def took_s(self):
        return (self.gone_ms - self.fenced_ms) / 1000

    def steps(self, watch):
        """Where the time went."""
        said = " ".join(f"{what} {(at - self.fenced_ms) / 1000:.2f} s" for at, what in watch.said_of(self.who))
        return f"{self.kind}: {said}, gone {self.took_s():.2f} s"


class Ends(threading.Thread):
    """Sees leaks end, whatever the test waits for meanwhile."""

    def __init__(self):
        super().__init__(daemon=True)
        self.leaks, self.over, self.error = [], threading.Event(), None
        self.start()

    def run(self):
        try:
            while not self.over.wait(0.1):
                for leak in list(self.leaks):
                    leak.look_for_it()
        except BaseException as error:  # told by finish()
            self.error = error

    def finish(self):
        self.over.set()
        self.join()
        if self.error:
            raise self.error


class Doomed(threading.Thread):
    """Spark after Spark, each with a watch of its own; now and then its daemons are killed, and at
    last its JVM. Each leaves leaks and pooled workers."""

    APART_S = (5, 15)

    def __init__(self, start_spark, reaper_for, rng, late_s):
        super().__init__(daemon=True)
        self.start_spark, self.reaper_for, self.rng, self.late_s = (
            start_spark, reaper_for, rng, late_s)
        self.over, self.error = threading.Event(), None
        self.daemons_killed = self.hosts_killed = self.leaks = self.reaped = 0
        self.stray, self.took_s = set(), []  # until all leaks of a dead JVM had ended

    def run(self):
        try:
            while not self.over.is_set() or not self.hosts_killed:
                self._one()
                self.over.wait(self.rng.uniform(*self.APART_S))  # each start takes a processor for long
        except BaseException as error:  # told by finish()
            self.error = error

    def finish(self):
        self.over.set()
        self.join()
        if self.error:
            raise self.error

    def _leak(self, spark):
        leak = Leak(spark, self.rng.choice(list(blocking.LEAKS)))
        spark.value(leak.label)
        self.leaks += 1
        return spark.noted(leak.label)

    def _kill_daemons(self, spark):
        for daemon in spark.daemons():
            self.daemons_killed += procs.send(daemon, signal.SIGKILL)

    def _use(self, spark):
        """A task may meet the end of its daemon, and fail; none of that is the reaper's."""
        try:
            spark.end(spark.begin("pooled", workers=1), JOB_S)
        except SparkHang:
            pass

    def _one(self):
        spark = self.start_spark(f"doomed-{self.hosts_killed}", master="local[4]", nice=NICE)
        watch = None
        try:
            spark.pool(2)
            watch = Watch(self.reaper_for(spark))
            left = set()
            for _ in range(self.rng.randint(1, 2)):
                left.add(self._leak(spark))
                time.sleep(self.rng.uniform(0, 3))
                self._kill_daemons(spark)
                self._use(spark)
            left.add(self._leak(spark))
            time.sleep(self.rng.uniform(0, 2))
            if self.rng.random() < 0.5:
                self._kill_daemons(spark)
            with_it = spark.snapshot()  # from now on, nobody needs them
            wrong = watch.ended() - left
            assert procs.send(spark.jvm_proc, signal.SIGKILL)
            self.hosts_killed += 1
            began_ms = procs.boottime_ms()
            procs.until(f"the leaks {left} of a dead JVM end",
                        lambda: not any(map(procs.alive, left)), self.late_s)
            rest_ms = max(watch.at_rest_ms(who, began_ms) for who in left)
            self.took_s.append((procs.boottime_ms() - rest_ms) / 1000)
            procs.until("its watch has nothing to do any more",
                        lambda: watch.child.poll() is not None, self.late_s)
            assert watch.child.returncode == 0, watch.err.read_text()
            self.reaped += len(left & watch.ended())  # a daemon whose host dies hangs up its own
            self.stray |= wrong | (watch.ended() - left - with_it)
        finally:
            if watch:
                watch.close()
            spark.close()


class Clock:
    """A wall clock that is stepped, seen only by who is started with `env`."""

    def __init__(self, folder, rng):
        self.rng, self.steps, self.file = rng, 0, folder / "step"
        shim = folder / "clock_step.so"
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", shim, HERE / "clock_step.c"],
                       check=True)
        self.file.write_bytes(struct.pack("q", 0))
        self.env = {"LD_PRELOAD": str(shim), "CLOCK_STEP": str(self.file)}
        self.ahead_s = 0.0

    def step(self):
        """Forward or back, by more than any drift."""
        before = self.ahead_s
        while abs(self.ahead_s - before) < 5:
            self.ahead_s = self.rng.uniform(-STEP_MOST_S, STEP_MOST_S)
        with open(self.file, "r+b") as file:
            file.write(struct.pack("q", int(self.ahead_s * 1e9)))
        self.steps += 1


class Told:
    """A Spark that writes markers, on a machine whose wall clock is stepped, under a watch that
    believes markers alone: `task-ended`, and the operator's `retired`."""

    LOAD = ("barrier", "fan_out", "upstream")
    LEAKS_S, RETIRES_S, STEPS_S = (6, 12), (15, 25), (15, 25)  # from one to the next

    def __init__(self, spark, reaper, logs, clock, seed):
        self.spark, self.reaper, self.clock = spark, reaper, clock
        self.rng = random.Random(seed)
        reaper.settings["reaper.marker_dir"] = str(logs)
        spark.pool(2)
        spark.run("pooled_udf")
        self.watch = Watch(reaper, clock.env, **{"policy.fences": "retired task-ended"})
        self.load = {kind: spark.begin("mixed_load", kind=kind, seconds=LOAD_S) for kind in self.LOAD}
        self.ends, self.retired, self.proven = Ends(), set(), {}
        self.leaks = self.ends.leaks
        self.due = {act: self._later(act) for act in (self._leak, self._retire, self._step)}

    def _later(self, act):
        span = {self._leak: self.LEAKS_S, self._retire: self.RETIRES_S, self._step: self.STEPS_S}
        return time.monotonic() + self.rng.uniform(*span[act])

    def _leak(self):
        self.leaks.append(Leak(self.spark, self.rng.choice(list(blocking.LEAKS))))

    def _retire(self):
        """The operator gives up a worker in the middle of a task, whose host would wait for it."""
        who = self.spark.noted(self.spark.begin("sleeping"))
        argv = [str(self.reaper.program)]
        for key, value in self.reaper.settings.items():
            argv += ["--set", f"{key}={value}"]
        done = subprocess.run([*argv, "retire", str(who.pid)], capture_output=True, text=True,
                              env=self.clock.env, timeout=60, check=False)
        assert done.returncode == 0, done
        self.retired.add(who)

    def _step(self):
        self.clock.step()

    def turn(self):
        self.watch.works()
        for act, when in self.due.items():
            if time.monotonic() >= when:
                act()
                self.due[act] = self._later(act)
        for leak in self.leaks:
            leak.look()

    def are_gone(self, leaks):
        return all([leak.is_over() for leak in leaks]) and not any(map(procs.alive, self.retired))

    def end_leaks(self, markers_s, late_s):
        """The clock is stepped no more. An end that a log dated before a step proves nothing after it, so
        what is left of those is for the kernel's proofs; those that come now are for markers."""
        for _ in range(2):
            self._leak()
        self._retire()
        procs.until("leaks end that only markers prove",
                    lambda: self.are_gone(self.leaks[-2:]), markers_s, 0.5)
        self.watch.stop()
        self.proven = self.watch.actions()
        self.watch = Watch(self.reaper, self.clock.env)
        procs.until("the leaks end whose end was told before the clock was stepped",
                    lambda: self.are_gone(self.leaks), late_s, 0.5)

    def ended(self):
        return set(self.proven) | self.watch.ended()

    def stray(self):
        return self.ended() - {leak.who for leak in self.leaks} - self.retired

    def missed(self):
        """Gone, and not by the watch."""
        return ({leak.who for leak in self.leaks} | self.retired) - self.ended()

    def end(self, seconds):
        """Nothing healthy has noticed anything."""
        for kind, label in self.load.items():
            count, attempt = self.spark.value(label, seconds)
            assert count >= 2 and attempt == 0, (kind, count, attempt)

    def close(self):
        self.ends.over.set()
        self.watch.close()
        self.spark.close()
