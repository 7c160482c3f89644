# SPDX-License-Identifier: Apache-2.0
"""The populations that need a Spark with other settings, or one that loses its daemon or JVM."""

import os

import pytest

import checks
import procs
from checks import (LEAK, POLL, RECVFROM, keeps, next_job_works, reaped, refresh, seen_first,
                    settle, suspected, sweep_ends)
from procs import Proc


class TestHalfShutdown:
    @pytest.fixture
    def spark(self, shared_spark, release):
        if release.startswith("3."):
            return shared_spark("ordinary")
        # Spark 4 shuts its sending side down alone only where a thread of its own writes.
        return shared_spark("half", conf={"spark.python.udf.pipelined.enabled": "true"})

    def test_jvm_holds_its_end(self, spark, reaper):
        job = spark.begin("half_shutdown")
        worker = spark.noted(job)
        checks.wait_blocked(worker, POLL)
        spark.open_gate(job)
        checks.wait_half_closed(worker)
        settle()
        assert not spark.over(job)
        keeps(spark, reaper, worker, reason="idle", socket="half-closed", fence="none",
              blocked_in="poll")
        reaper.audit(silent_after="1s").holds(worker, verdict={"keep", "suspect"}, fence="none")
        sweep_ends(spark, reaper, silent_after="1s")
        assert not spark.over(job)
        procs.end_and_wait(worker)  # now Spark says what broke
        assert "upstream broke" in spark.end(job)["failed"]
        next_job_works(spark)


class TestWithoutReuse:
    """spark.python.worker.reuse=false: a worker signs off after its one task."""

    @pytest.fixture
    def spark(self, shared_spark):
        return shared_spark("no-reuse", conf={"spark.python.worker.reuse": "false"})

    def test_signed_off_while_the_jvm_reads(self, spark, reaper):
        """600 rows that the JVM stops in front of twice: with most of them in the queues, and
        with none."""
        job = spark.begin("slow_consumer", rows=600, size=2000, stops=[0, 599])
        worker = spark.noted(job)
        checks.wait_blocked(worker, RECVFROM)
        settle()
        full = keeps(spark, reaper, worker, reason="unread-bytes", fence="signed-off",
                     socket="signed-off", blocked_in="recv")
        assert full.worker(worker)["send_queue"] > 0, full
        spark.open_gate(f"{job}.0")
        settle(0.5)
        procs.until("the JVM has read all",
                    lambda: reaper.audit().worker(worker)["reason"] != "unread-bytes")
        settle()
        empty = reaped(spark, reaper, worker, reason="signed-off", fence="signed-off",
                       socket="signed-off", blocked_in="recv", wait_forever=True)
        assert empty.worker(worker)["send_queue"] == 0, empty
        assert not spark.over(job), "the JVM was to hold its end"
        spark.open_gate(f"{job}.599")
        assert spark.value(job) == [[row, 2000] for row in range(600)]
        next_job_works(spark)

    def test_lost_helper(self, spark, reaper):
        """A multiprocessing child whose worker has left while the daemon lives."""
        job = spark.begin("lost_helper")
        ((pid, start),) = spark.value(job)
        helper = spark.noted(f"{job}-helper")
        assert not procs.wait_gone([Proc(pid, start)], 10), "the worker stayed"
        assert procs.read_stat(helper.pid).ppid == 1
        settle()
        result = checks.audit_until(reaper, [helper], "suspect").expect(0)
        result.holds(helper, role="lost-helper", verdict="suspect", reason="lost-helper",
                     fence="none")
        sweep_ends(spark, reaper)
        next_job_works(spark)


class TestDeadDaemon:
    def test_its_pooled_worker_is_used_again(self, start_spark, reaper_for):
        def body(spark):
            pooled = spark.pool(2)
            (daemon,) = spark.daemons()
            procs.end_and_wait(daemon)
            procs.until("orphans", lambda: procs.read_stat(pooled[0].pid).ppid == 1)
            settle()
            reaper = reaper_for(spark)
            for worker in pooled:
                keeps(spark, reaper, worker, reason="idle", socket="established", fence="none")
            suspected(spark, reaper, pooled[0])
            assert set(spark.pool(2)) == set(pooled), "the next job did not run on the orphans"

        checks.without_spark_hangs(lambda: start_spark("dead-daemon"), body)

    @pytest.mark.skipif(os.geteuid() != 0, reason="a pid namespace needs root")
    def test_host_gone(self, start_spark, reaper_for):
        """Daemon and JVM killed: the worker in poll(-1) belongs to nobody. In a pid namespace of
        its own, since reaper cannot be told to look at a host that is not there."""

        def body(spark):
            spark.pool()
            job = spark.begin("early_rdd")
            spark.value(job)
            inner = spark.noted(job)
            worker = spark.outer(inner)
            checks.wait_blocked(worker, POLL)
            jvm = next(proc for proc in spark.snapshot()
                       if procs.inner_pid(proc.pid) == spark.jvm)
            for daemon in procs.children(jvm.pid):
                procs.end_and_wait(daemon)
            procs.end_and_wait(jvm)
            settle()  # older than min_age
            reaper = reaper_for(spark)
            # Its JVM hung up, which the kernel dates, before it died, which only a sweep can date:
            # with a long timeout the first sweep does that and no more.
            first = sweep_ends(spark, reaper, timeout="1h")
            first.holds(inner, verdict="keep", reason="waiting", socket="peer-closed")
            settle()
            due = checks.audit_until(reaper, [inner], "reap").expect(1)
            due.holds(inner, **{**LEAK, "reason": "host-gone", "fence": "host-gone"},
                      verdict="reap", socket="peer-closed")
            result = sweep_ends(spark, reaper, {worker})
            assert result.ended() == {inner}, result

        checks.without_spark_hangs(lambda: start_spark("host-gone", isolated=True), body)


@pytest.mark.spark4
class TestUnixSockets:
    @pytest.fixture
    def spark(self, shared_spark):
        return shared_spark("unix", conf={"spark.python.unix.domain.socket.enabled": "true"})

    def test_pooled(self, spark, reaper):
        (worker,) = spark.pool()
        settle()
        keeps(spark, reaper, worker, reason="idle", socket="established", transport="unix",
              blocked_in="read")
        suspected(spark, reaper, worker)
        assert spark.pool() == [worker]

    def test_early_stop(self, spark, reaper):
        job = spark.begin("early_arrow")
        spark.value(job)
        worker = spark.noted(job)
        checks.wait_blocked(worker, POLL)
        (pooled,) = spark.pool()
        refresh(spark)
        settle()
        seen_first(spark, reaper, worker, socket="peer-closed", transport="unix",
                   fence="peer-closed")
        refresh(spark)
        settle()
        result = reaped(spark, reaper, worker, socket="peer-closed", transport="unix", **LEAK)
        result.holds(pooled, verdict="keep", reason="idle", transport="unix")
        next_job_works(spark)


class TestCluster:
    @pytest.fixture
    def spark(self, shared_spark):
        return shared_spark("cluster", master="local-cluster[1,1,1024]")

    def test_the_nearest_jvm_is_the_host(self, spark, reaper_for):
        (pooled,) = spark.pool()
        daemon = procs.read_stat(procs.read_stat(pooled.pid).ppid).proc
        executor = procs.read_stat(procs.read_stat(daemon.pid).ppid).proc
        assert executor.pid != spark.jvm and procs.read_stat(executor.pid).ppid == spark.jvm
        job = spark.begin("early_arrow")
        spark.value(job)
        leaked = spark.noted(job)
        checks.wait_half_closed(leaked)
        checks.wait_blocked(leaked, POLL)
        assert spark.pool() == [pooled]
        settle()
        reaper = reaper_for(spark, host=executor.pid)
        result = reaped(spark, reaper, leaked, socket="peer-closed", host=executor.pid, **LEAK)
        result.holds(pooled, verdict="keep", reason="idle", host=executor.pid)
        assert result.daemon(daemon)["host"] == executor.pid, result
        above = reaper_for(spark).audit()
        assert all(row["host"] != spark.jvm for row in above.doc["daemons"]), above
        assert spark.pool() == [pooled]
