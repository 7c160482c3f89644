# SPDX-License-Identifier: Apache-2.0
"""Every state that a worker of a real Spark can be in, judged and swept with the fastest settings:
here those of a Spark as it comes, in test_other_sparks.py those that need other settings.

Each test brings one worker into its state, looks at it with `audit`, lets `sweep` loose on that
Spark, compares the processes before and after by pid and start ticks, and sees that Spark's next
job works. Nothing writes markers here: this is a stock Spark.
"""

import os
import re
import signal

import pytest

import checks
import hostmarkers
import procs
from checks import (LEAK, POLL, READ, RECVFROM, keeps, next_job_works, reaped, refresh, seen_first,
                    settle, suspected, sweep_ends)
from procs import Proc


@pytest.fixture
def spark(shared_spark):
    return shared_spark("ordinary")


def test_doctor_names_what_to_add(spark, reaper):
    """What test_both_markers.py starts its Spark with, as its user would write it."""
    spark.pool()
    said = checks.doctor(reaper, spark.jvm)
    assert said["status"] == "advice" and "writes no marker log" in said["found"], said
    share = re.search(r"PYTHONPATH=(/\S+)/python", said["fix"]).group(1)
    assert said["fix"].splitlines()[1:] == [
        f"  --conf spark.plugins={hostmarkers.PLUGIN}",
        f"  --conf spark.jars={share}/java/reaper-spark.jar",
        "  --conf spark.python.daemon.module=reaper_pyspark",
        f"  PYTHONPATH={share}/python",
        f"  REAPER_MARKER_DIR={reaper.settings['reaper.marker_dir']}"]
    needed = [f"{share}/{name}" for name in ("java/reaper-spark.jar", "python/reaper_markers.py",
                                             "python/reaper_pyspark.py")]
    missing = [path for path in needed if not os.path.exists(path)]
    files = [row["found"] for row in reaper.run("doctor").doc["checks"]
             if row["name"] == "host-files"]
    if not missing:
        assert files == []
        return
    (said,) = files
    assert f"missing: {len(missing)} of the files " in said and f"{missing[0]}: No such file" in said, said


class TestHealthy:
    """What Spark still uses is never ended, however long it is silent."""

    def test_pooled(self, spark, reaper):
        pooled = spark.pool(2)
        settle()
        for worker in pooled:
            keeps(spark, reaper, worker, reason="idle", socket="established", transport="tcp",
                  blocked_in="read", fence="none", marker="none")
        suspected(spark, reaper, pooled[0])
        assert reaper.sweep().doc["actions"] == [], "a sweep always says what it did"
        assert set(spark.pool(2)) == set(pooled), "the pool was not used again"

    def test_cpu_loop(self, spark, reaper):
        job = spark.begin("busy")
        worker = spark.noted(job)
        settle()
        keeps(spark, reaper, worker, reason="serving", fence="none", state="R")
        past = reaper.audit(silent_after="1s")
        past.holds(worker, verdict="keep", reason={"running", "progress", "serving"})
        sweep_ends(spark, reaper, silent_after="1s")
        spark.enough(job)
        assert spark.value(job) == [True]

    def test_sleeps_in_a_task(self, spark, reaper):
        job = spark.begin("sleeping")
        worker = spark.noted(job)
        settle()
        keeps(spark, reaper, worker, reason="idle", blocked_in="sleep", wait_forever=False)
        suspected(spark, reaper, worker)
        assert procs.send(worker, signal.SIGUSR1)
        assert spark.value(job) == [list(worker)]

    def test_waits_for_slow_upstream(self, spark, reaper):
        job = spark.begin("slow_upstream")
        worker = spark.noted(job)
        checks.wait_blocked(worker, READ)
        settle()
        keeps(spark, reaper, worker, reason="idle", blocked_in="read", socket="established")
        suspected(spark, reaper, worker)
        spark.open_gate(job)
        assert [row[0] for row in spark.value(job)] == [0, 1, 2, 3]

    def test_jvm_consumes_slowly(self, spark, reaper):
        job = spark.begin("slow_consumer")
        worker = spark.noted(job)
        checks.wait_blocked(worker, READ)
        settle()
        assert not spark.over(job)
        keeps(spark, reaper, worker, reason="idle", blocked_in="read", socket="established")
        suspected(spark, reaper, worker)
        spark.open_gate(f"{job}.0")
        assert spark.value(job) == [[0, 0], [1, 0], [2, 0]]
        next_job_works(spark)

    @pytest.mark.spark4
    def test_taken_and_not_yet_sent_a_byte(self, spark, reaper):
        pooled = spark.pool(2)
        job = spark.begin("zipped")
        left = spark.noted(f"{job}-left")
        settle()
        before = spark.snapshot()
        look = reaper.audit().expect(0)
        sweep_ends(spark, reaper)
        others = set(pooled) - {left}
        late = checks.audit_until(reaper, others, "suspect", silent_after="1s").expect(0)
        spark.enough(job)
        (pair,) = spark.value(job)
        assert Proc(*pair[0]) == left
        right = Proc(*pair[1])
        assert right in before, "Spark forked the second worker later: this was not that state"
        row = look.holds(right, verdict="keep", reason="idle", blocked_in="read",
                         socket="established")
        assert row["socket_silent_ms"] >= 1000, f"it had been sent something: {row}"
        late.holds(right, verdict="suspect", reason="silent")


class TestEarlyStop:
    """The JVM took what it wanted and hung up; the worker waits for ever."""

    @pytest.mark.parametrize("how", ["block", "zmq_term"])
    @pytest.mark.parametrize("kind", ["early_arrow", "early_rdd"])
    def test_hung_up(self, spark, reaper, kind, how):
        job = spark.begin(kind, how=how)
        closed = spark.end(job)["at"]  # after its first note, at the latest when the action returns
        worker = spark.noted(job)
        checks.wait_half_closed(worker)
        checks.wait_blocked(worker, POLL)
        refresh(spark)
        settle()
        asked = procs.boottime_ms()
        waiting = reaper.audit(timeout="5m").expect(0)
        row = waiting.holds(worker, verdict="keep", reason={"waiting", "running"},
                            fence="peer-closed")
        youngest = asked - closed - 1000
        oldest = procs.boottime_ms() - spark.noted_at(job) + 1000
        assert youngest <= row["fence_age_ms"] <= oldest, (
            f"the JVM hung up {youngest} to {oldest} ms ago: {row}")
        # a thread of zmq may be awake at a look
        row = procs.until("all threads are asleep at a look", lambda: next(
            (row for who, row in reaper.audit(timeout="5m").entries().items()
             if who == worker and row["reason"] == "waiting"), None))
        waited = min(row["fence_age_ms"], row["blocked_ms"])
        assert abs(300_000 - waited - row["due_in_ms"]) <= 1000, row
        reaped(spark, reaper, worker, socket="peer-closed", **LEAK)
        next_job_works(spark)

    def test_rows_unread(self, spark, reaper):
        """The kernel resets the connection: it is in no table any more. The JVM waits until all is
        written; else the write could fail, and nobody would be left behind."""
        job = spark.begin("early_arrow", rows=6, size=200_000, held=True)
        worker = spark.noted(job)
        checks.wait_blocked(worker, POLL)
        spark.open_gate(job)
        spark.value(job)
        checks.wait_reset(worker)
        refresh(spark)
        settle()
        seen_first(spark, reaper, worker, socket="gone", fence="peer-closed")
        refresh(spark)
        reaped(spark, reaper, worker, socket="gone", **LEAK)
        next_job_works(spark)

    def test_input_unread(self, spark, reaper):
        """What the JVM sent does not fit: the worker's end stays established for minutes."""
        job = spark.begin("early_arrow", unread=3)
        spark.value(job)
        worker = spark.noted(job)
        checks.wait_blocked(worker, POLL)
        checks.wait_unread(worker)
        refresh(spark)
        settle()
        seen_first(spark, reaper, worker, socket="peer-closed", fence="peer-closed")
        refresh(spark)
        row = reaped(spark, reaper, worker, socket="peer-closed", **LEAK).worker(worker)
        assert row["recv_queue"] > 1, row
        next_job_works(spark)

    def test_with_a_helper_on_the_task_socket(self, spark, reaper):
        job = spark.begin("early_arrow", helper=True)
        spark.value(job)
        worker, helper = spark.noted(job), spark.noted(f"{job}-helper")
        checks.wait_half_closed(worker)
        checks.wait_blocked(worker, POLL)
        assert procs.socket_inodes(helper.pid)[3] == procs.socket_inodes(worker.pid)[3]
        refresh(spark)
        settle()
        assert reaper.explain(helper.pid)["role"] == "helper"
        result = reaped(spark, reaper, worker, {helper}, role="worker", **LEAK)
        result.holds(helper, role="helper", helper_of=worker.pid)
        next_job_works(spark)

    def test_two_daemons_of_one_host(self, spark, reaper):
        """RDDs and SQL have a daemon each, with workers of their own."""
        (rdd,) = spark.pool()
        sql = Proc(*spark.run("pooled_udf"))
        settle()
        result = reaper.audit().expect(0)
        daemons = spark.daemons()
        assert len(daemons) == 2, daemons
        for worker in (rdd, sql):
            parent = procs.read_stat(worker.pid).ppid
            result.holds(worker, verdict="keep", reason="idle", daemon=parent, host=spark.jvm)
        assert result.worker(rdd)["daemon"] != result.worker(sql)["daemon"]
        for daemon in daemons:
            row = result.daemon(daemon)
            assert row["host"] == spark.jvm and row["class"] == "pyspark", row
            assert row["workers"] == len(procs.children(daemon.pid)), row
            assert (row["verdict"], row["reason"]) == ("keep", "daemon"), row
        sweep_ends(spark, reaper)
        next_job_works(spark)

    def test_leaks_among_their_neighbours(self, spark, reaper):
        """All at once: one sweep ends the leaks and nobody else, and every job ends right."""
        jobs = {kind: spark.begin(kind) for kind in ("busy", "sleeping", "slow_upstream",
                                                     "slow_consumer")}
        healthy = {kind: spark.noted(job) for kind, job in jobs.items()}
        leaks = set()
        for kind, more in (("early_arrow", {}), ("early_rdd", {}),
                           ("early_arrow", {"helper": True}), ("early_rdd", {"how": "zmq_term"})):
            job = spark.begin(kind, **more)
            spark.value(job)
            checks.wait_half_closed(spark.noted(job))
            checks.wait_blocked(spark.noted(job), POLL)
            leaks.add(spark.noted(job))
            leaks |= {spark.noted(f"{job}-helper")} if more.get("helper") else set()
        refresh(spark)
        settle()
        result = sweep_ends(spark, reaper, leaks)
        for worker in healthy.values():
            result.holds(worker, verdict="keep")
        spark.enough(jobs["busy"])
        procs.send(healthy["sleeping"], signal.SIGUSR1)
        spark.open_gate(jobs["slow_upstream"])
        spark.open_gate(f"{jobs['slow_consumer']}.0")
        assert spark.value(jobs["busy"]) == [True]
        assert spark.value(jobs["sleeping"]) == [list(healthy["sleeping"])]
        assert len(spark.value(jobs["slow_upstream"])) == 4
        assert len(spark.value(jobs["slow_consumer"])) == 3
        next_job_works(spark)
        failed = spark.ask("failed-tasks")
        assert failed["failed"] == 0 and failed["stages"] > 0, failed


class TestSignedOff:
    def test_before_its_input_ended(self, spark, reaper, release):
        """A function that stops before its input ends, rows behind it that the JVM takes slowly,
        and more input that comes late: the worker has signed off, both queues are empty, and the
        task still needs it to be there, since a write to a closed connection fails the task.
        Spark 3.5 has a thread that waits to write; Spark 4 leaves bytes in its receive queue."""
        job = spark.begin("deaf")
        worker = spark.noted(job)
        checks.wait_blocked(worker, RECVFROM)
        settle()
        kept = keeps(spark, reaper, worker, reason="unread-bytes", fence="signed-off",
                     socket="signed-off", blocked_in="recv").worker(worker)
        assert kept["recv_queue"] == kept["send_queue"] == 0, kept
        assert ("thread of its host" in kept["why"]) == release.startswith("3."), kept
        spark.open_gate(f"{job}.in")
        procs.until("the JVM has written all",
                    lambda: reaper.audit().worker(worker)["reason"] != "unread-bytes")
        settle()
        reaped(spark, reaper, worker, reason="signed-off", fence="signed-off",
               socket="signed-off", blocked_in="recv")
        assert not spark.over(job), "the JVM was to hold its end"
        spark.open_gate(f"{job}.out")
        assert spark.value(job) == [0, 1, 2]
        next_job_works(spark)
