# SPDX-License-Identifier: Apache-2.0
"""Sweep after sweep over a Spark that never rests: nothing that it still uses is ended.

REAPER_LIVE_SWEEPS   how many sweeps (default: 100, with markers 40; or as many as fit in 90 s)
"""

import os
import time

import checks
import hostmarkers
import procs

STEP_S = 0.5
LIMIT_S = 90
SLOW_S = 300  # a machine that is busy with other things gets more time for TWICE
TWICE = 2  # so often each kind of job must have run to its end beside the sweeps
LOAD = ("fan_out", "short", "spin", "sleep", "upstream", "consumer", "quitter", "leak")


def noted_by(spark, job):
    """The workers that the job meant to leave behind, or that signed off."""
    return {spark.noted(path.name) for path in spark.notes.glob(f"{job}-*")}


def times_done(spark, job):
    path = spark.notes / f"{job}.done"
    return path.stat().st_size if path.exists() else 0


def sweep_on(spark, reaper, jobs, wanted, limit_s):
    """Sweep so often, or until the time is up, and until every kind of job has run.

    Gives back (sweeps, ended, kept)."""
    sweeps, ended, kept = 0, set(), 0
    began = time.monotonic()

    def is_enough():
        full = sweeps >= wanted or time.monotonic() - began >= limit_s
        return full and min(times_done(spark, job) for job in jobs.values()) >= TWICE

    while not is_enough():
        assert time.monotonic() - began < limit_s + SLOW_S, "Spark does not get on with its jobs"
        result = reaper.sweep().expect(0)
        sweeps += 1
        ended |= result.ended()
        kept += result.doc["summary"]["keep"]
        stray = result.ended() - noted_by(spark, jobs["leak"]) - noted_by(spark, jobs["quitter"])
        assert not stray, f"sweep {sweeps} ended what Spark still used: {stray}: {result}"
        time.sleep(max(0.0, began + sweeps * STEP_S - time.monotonic()))
    return sweeps, ended, kept


def end_last(spark, reaper, leaked):
    """Sweeps until none of these is left; says what was said of those that are."""
    last = []

    def are_gone():
        last[:] = [reaper.sweep().expect(0).entries()]
        return not leaked & spark.snapshot()

    try:
        procs.until("a sweep ends the last leaks", are_gone, checks.LATE_S, 1)
    except AssertionError as error:
        left = {who: last[0].get(who) for who in leaked & spark.snapshot()}
        raise AssertionError(f"{error}: {left}") from None


def test_sweeps_over_a_live_spark(start_spark, reaper_for, capsys):
    live(start_spark, reaper_for, capsys, {}, None)


def test_sweeps_over_a_live_spark_that_writes_markers(start_spark, reaper_for, capsys,
                                                      tmp_path_factory):
    logs = tmp_path_factory.mktemp("live-logs")
    live(start_spark, reaper_for, capsys, hostmarkers.settings(logs), logs)


def live(start_spark, reaper_for, capsys, settings, logs):
    """Sweeps over a Spark with these settings; `logs` is where it writes markers, if it does."""
    wanted = int(os.environ.get("REAPER_LIVE_SWEEPS", "40" if logs else "100"))
    limit_s = LIMIT_S if wanted <= 100 else wanted * 5
    spark = start_spark("live", master="local[48]", **settings)
    try:
        reaper = reaper_for(spark)
        if logs:
            reaper.settings["reaper.marker_dir"] = str(logs)
        # hundreds in ten minutes: the breaker is not what is tried here
        reaper.settings["policy.max_kills_per_hour"] = "10000"
        assert reaper.settings["policy.timeout"] == reaper.settings["policy.min_age"] == "1s"
        spark.pool(2)
        spark.run("pooled_udf")  # the first job of SQL takes long, and is not what is tested
        jobs = {kind: spark.begin("mixed_load", kind=kind, seconds=limit_s + SLOW_S + 60)
                for kind in LOAD}
        began = time.monotonic()
        sweeps, ended, kept = sweep_on(spark, reaper, jobs, wanted, limit_s)
        took = time.monotonic() - began
        (spark.notes / "enough").touch()
        done = {kind: spark.value(job) for kind, job in jobs.items()}
        with capsys.disabled():
            print(f"\n{sweeps} sweeps in {took:.0f} s over Spark {spark.version}"
                  f"{' with markers' if logs else ''}: {len(ended)} workers ended, "
                  f"{kept} times a worker kept; jobs: { {kind: count for kind, (count, _) in done.items()} }")
        for kind, (count, attempt) in done.items():
            assert count >= TWICE, f"{kind} ran {count} times in {took:.0f} s"
            assert attempt == 0, f"a task of {kind} was tried again"
        failed = spark.ask("failed-tasks")
        assert failed["failed"] == 0 and failed["stages"] > 20, failed
        log = spark.log.read_text("utf-8", "replace")
        assert "Lost task" not in log and "Python worker exited" not in log, spark.log_tail(200)
        leaks = ended & noted_by(spark, jobs["leak"])
        assert leaks, "no leak came up: the sweeps had nothing to tell apart"
        end_last(spark, reaper, noted_by(spark, jobs["leak"]))
        assert sweeps >= min(wanted, 20), f"only {sweeps} sweeps in {took:.0f} s"
        checks.next_job_works(spark)
    finally:
        spark.close()
