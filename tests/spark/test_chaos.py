# SPDX-License-Identifier: Apache-2.0
"""Everything at once on a real Spark, under a watch with the most aggressive legal settings.

64 workers and more: blocked in each healthy way of blocking.py, used again at 20 tasks a second,
with slow upstreams and slow consumers; beside them leaks, one of each kind in turn. A second Spark
writes markers on a machine whose wall clock is stepped, under a watch that believes markers alone;
a third one, again and again, has its daemons and its JVM killed. Nobody healthy may be ended, and
every leak must be, in time.

REAPER_CHAOS_S      how long (default: 120 s)
REAPER_CHAOS_SEED   what happens when (default: another one each time; it is printed)
"""

import os
import random
import time

import blocking
import chaos
import checks
import hostmarkers
import procs
import pytest
from chaos import LENGTH_S

SEED = int(os.environ.get("REAPER_CHAOS_SEED") or time.time_ns() % 1_000_000)
LEAK_EVERY_S = (1, 5)
TASKS_A_SECOND = 20
LATE = 2  # times as long again for the short tasks: Spark 3.5 does half as many on two processors
USES = 4  # of a worker, at least, one with another
SLOTS = 90  # so that short tasks always find one beside those that are blocked
WORKERS = 64  # at once, at least
LOAD = ("fan_out", "upstream", "consumer", "barrier")  # beside the short tasks
LONGEST_S = 5  # that a healthy one is blocked for
COUNT_EVERY_S = 5
END_S = 120  # what the last jobs get
ROUNDS_S = 400  # what a machine that is busy gets until each job has been through its work
MARKERS_S = 120  # for two beats, and more, after the last step of the clock


def seconds_of(setting):
    return float(setting.removesuffix("s"))


def run_chaos(spark, watch, leaks, told, doomed):
    """Seeds leaks for so long. The most workers that were there at once."""
    kinds, rng = list(blocking.LEAKS), random.Random(SEED)
    rng.shuffle(kinds)
    began = due = counted = time.monotonic()
    workers = 0
    while time.monotonic() - began < LENGTH_S or len(leaks) < len(kinds):
        watch.works()
        if time.monotonic() >= due:
            leaks.append(chaos.Leak(spark, kinds[len(leaks) % len(kinds)]))
            due = time.monotonic() + rng.uniform(*LEAK_EVERY_S)
        if time.monotonic() >= counted:
            workers = max(workers, sum(len(procs.children(daemon.pid)) for daemon in spark.daemons()))
            counted = time.monotonic() + COUNT_EVERY_S
        for leak in leaks:
            leak.look()
        told.turn()
        assert doomed.error is None, doomed.error
        time.sleep(0.2)
    return workers


def await_rounds(spark, label, count):
    """Until a job has been through its work so often, however busy the machine is."""
    path = spark.notes / f"{label}.done"
    procs.until(f"{count} rounds of {label}",
                lambda: path.exists() and path.stat().st_size >= count, ROUNDS_S, 0.5)


def end_jobs(spark, load, blocked, paced):
    """Lets all jobs come to their end; none of them may have noticed anything."""
    await_rounds(spark, blocked, 3)
    for label in load.values():
        await_rounds(spark, label, 2)
    tasks, took_s, attempt, used = spark.value(paced, LATE * LENGTH_S + END_S)
    assert tasks == TASKS_A_SECOND * LENGTH_S and attempt == 0, (tasks, attempt)
    assert used * USES <= tasks, f"{tasks} short tasks on {used} workers: hardly one was used again"
    (spark.notes / "enough").touch()
    rounds, wrong, attempt = spark.value(blocked, END_S)
    assert rounds >= 3 and not wrong and attempt == 0, (rounds, wrong, attempt)
    for kind, label in load.items():
        count, attempt = spark.value(label, END_S)
        assert count >= 2 and attempt == 0, (kind, count, attempt)
    failed = spark.ask("failed-tasks")
    assert failed["stages"] and failed["failed"] == 0, failed
    log = spark.log.read_text("utf-8", "replace")
    assert "Lost task" not in log and "Python worker exited" not in log, spark.log_tail(200)
    return rounds, tasks, took_s, used


def end_leaks(leaks, told, doomed):
    procs.until("the last leaks end", lambda: all([leak.is_over() for leak in leaks]), checks.LATE_S)
    told.end_leaks(MARKERS_S, checks.LATE_S)
    for label in told.load.values():
        await_rounds(told.spark, label, 2)
    (told.spark.notes / "enough").touch()
    told.end(END_S)
    doomed.finish()


@pytest.fixture
def told(start_spark, reaper_for, tmp_path, tmp_path_factory):
    logs = tmp_path_factory.mktemp("chaos-logs")
    clock = chaos.Clock(tmp_path, random.Random(SEED + 1))
    settings = hostmarkers.settings(logs)
    spark = start_spark("chaos-told", master="local[12]", conf=settings["conf"],
                        env={**settings["env"], **clock.env}, nice=chaos.NICE)
    one = chaos.Told(spark, reaper_for(spark), logs, clock, SEED + 2)
    yield one
    one.close()


@pytest.mark.skipif("ASAN_OPTIONS" in os.environ, reason="it is about time")
def test_chaos(start_spark, reaper_for, told, capsys):
    with capsys.disabled():
        print(f"\nREAPER_CHAOS_SEED={SEED}")
    spark = start_spark("chaos", master=f"local[{SLOTS}]", nice=chaos.NICE)
    reaper = reaper_for(spark)
    bound_s = sum(seconds_of(reaper.settings[f"policy.{name}"])
                  for name in ("timeout", "term_grace", "kill_grace")) + 2 * chaos.INTERVAL_S
    spark.pool(2)
    spark.run("pooled_udf")
    watch, ends = chaos.Watch(reaper), chaos.Ends()
    leaks = ends.leaks
    doomed = chaos.Doomed(start_spark, reaper_for, random.Random(SEED + 3), checks.LATE_S)
    try:
        blocked = spark.begin("blocked", kinds=list(blocking.HEALTHY), seconds=LONGEST_S)
        load = {kind: spark.begin("mixed_load", kind=kind, seconds=(1 + LATE) * LENGTH_S + ROUNDS_S + 2 * END_S)
                for kind in LOAD}
        paced = spark.begin("paced", tasks=TASKS_A_SECOND, seconds=LENGTH_S)
        doomed.start()
        workers = run_chaos(spark, watch, leaks, told, doomed)
        doomed.over.set()  # its Sparks would take the processors from the last jobs, for minutes
        rate = spark.ask("failed-tasks")["completed"] / LENGTH_S
        rounds, tasks, took_s, used = end_jobs(spark, load, blocked, paced)
        end_leaks(leaks, told, doomed)
        ends.finish()
        told.ends.finish()
        watch.stop()
        told.watch.stop()
        stray = watch.ended() - {leak.who for leak in leaks}
        missed = {leak.who for leak in leaks} - watch.ended() | told.missed()
        long = [took for took in doomed.took_s if took > bound_s]
        late_s = {leak: leak.late_s(watch) for leak in leaks}
        late = [leak for leak in leaks if late_s[leak] > bound_s or leak.took_s() > checks.LATE_S]
        latest = max(leaks, key=late_s.get)
        proofs = list(told.proven.values())
        with capsys.disabled():
            print(f"{workers} workers, {rounds} rounds of {len(blocking.HEALTHY)} healthy ways to block, {rate:.0f} tasks a "
                  f"second, {tasks} short ones in {took_s:.0f} s on {used} workers, the latest leak: {latest.steps(watch)}, "
                  f"{late_s[latest]:.2f} s of it at rest\n"
                  f"by markers alone, while the wall clock was stepped {told.clock.steps} times: "
                  f"{proofs.count('task-ended')} task-ended, {proofs.count('retired')} retired, "
                  f"{len(told.stray())} wrong\n"
                  f"killed: {doomed.daemons_killed} daemons, {doomed.hosts_killed} JVMs; they left "
                  f"{doomed.leaks} leaks, of which {doomed.reaped} did not end with them, "
                  f"{len(doomed.stray)} wrong; the latest was gone {max(doomed.took_s):.1f} s after its JVM\n"
                  f"figure leaks among healthy workers of a real Spark: "
                  f"{len(leaks) + len(told.leaks) + len(told.retired) + doomed.reaped} leaks, "
                  f"{len(stray) + len(missed) + len(late) + len(long) + len(told.stray()) + len(doomed.stray)}"
                  f" wrong")
        assert not stray, f"ended, and not leaked: {stray}"
        assert not told.stray(), f"ended by markers, and not leaked: {told.stray()}"
        assert not doomed.stray, f"ended beside a daemon that died: {doomed.stray}"
        assert not missed, f"leaks that ended by themselves: {missed}"
        assert not late, f"later than {bound_s} s: {[leak.steps(watch) for leak in late]}"
        assert not long, f"later than {bound_s} s after their JVM: {long}"
        assert workers >= WORKERS, f"no more than {workers} workers at once"
        assert doomed.daemons_killed and doomed.reaped >= 1, "whoever killed them left nobody behind"
        assert {"task-ended", "retired"} <= set(proofs) and told.clock.steps > 1, proofs
        checks.next_job_works(spark)
    finally:
        ends.over.set()
        doomed.over.set()
        if doomed.is_alive():
            doomed.join()
        watch.close()
        spark.close()
