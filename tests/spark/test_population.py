# SPDX-License-Identifier: Apache-2.0
"""Every state that a worker of a real Spark can be in, judged and swept with the fastest settings.

Each test brings one worker into its state, looks at it with `audit`, lets `sweep` loose on that
Spark, compares the processes before and after by pid and start ticks, and sees that Spark's next
job works. Nothing writes markers here: this is a stock Spark.
"""

import os
import signal

import pytest

import checks
import procs
from checks import keeps, next_job_works, reaped, refresh, seen_first, settle, suspected, sweep_ends
from procs import Proc

READ, POLL, RECVFROM = 0, 7, 45  # system call numbers of x86-64
LEAK = {"reason": "peer-closed", "fence": "peer-closed", "blocked_in": "poll", "wait_forever": True}


@pytest.fixture
def spark(shared_spark):
    """A local Spark as it comes."""
    return shared_spark("ordinary")


@pytest.fixture
def reaper(reaper_for, spark):
    return reaper_for(spark)


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
        spark.pool(2)
        job = spark.begin("zipped")
        left = spark.noted(f"{job}-left")
        settle()
        before = spark.snapshot()
        look = reaper.audit().expect(0)
        sweep_ends(spark, reaper)
        late = reaper.audit(silent_after="1s").expect(0)
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
        closed = spark.end(job)["at"]  # the socket is closed when the action returns
        worker = spark.noted(job)
        checks.wait_half_closed(worker)
        checks.wait_blocked(worker, POLL)
        refresh(spark)
        settle()
        waiting = reaper.audit(timeout="5m").expect(0)
        row = waiting.holds(worker, verdict="keep", reason="waiting", fence="peer-closed")
        assert 290_000 < row["due_in_ms"] < 300_000, row
        asked = procs.boottime_ms()
        result = reaped(spark, reaper, worker, socket="peer-closed", **LEAK)
        age = result.worker(worker)["fence_age_ms"]
        assert age is not None and asked - closed - 1000 <= age <= asked - closed + 1000, (
            f"the JVM hung up {asked - closed} ms ago, not {age}: {result}")
        next_job_works(spark)

    def test_rows_unread(self, spark, reaper):
        """The kernel resets the connection: it is in no table any more."""
        job = spark.begin("early_arrow", rows=6, size=200_000)
        spark.value(job)
        worker = spark.noted(job)
        checks.wait_blocked(worker, POLL)
        checks.wait_reset(worker)
        refresh(spark)
        settle()
        seen_first(spark, reaper, worker, socket="gone", fence="peer-closed")
        refresh(spark)
        reaped(spark, reaper, worker, socket="gone", **LEAK)
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
        for kind, more in (("early_arrow", {}), ("early_rdd", {}), ("early_arrow", {"helper": True}),
                           ("early_rdd", {"how": "zmq_term"})):
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


class TestLimits:
    @pytest.mark.xfail(reason="nothing outside of the JVM tells whether it will write again")
    def test_signed_off_with_input_to_come(self, spark, reaper):
        """A function that stops before its input ends, rows behind it that the JVM takes slowly,
        and more input that comes late: the worker has signed off, both queues are empty, and the
        task still needs it to be there, since a write to a closed connection fails the task."""
        job = spark.begin("deaf")
        worker = spark.noted(job)
        checks.wait_blocked(worker, RECVFROM)
        settle()
        reaper.sweep()
        ended = not procs.alive(worker)
        spark.open_gate(f"{job}.in")
        settle()
        spark.open_gate(f"{job}.out")
        failed = spark.end(job)["failed"]
        assert not ended and failed is None, f"ended: {ended}; {failed}"


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
        result = reaper.audit().expect(0)
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
            settle(0.5)
            reaper = reaper_for(spark)
            # Its JVM hung up, which the kernel dates, before it died, which only a sweep can date:
            # with a long timeout the first sweep does that and no more.
            first = sweep_ends(spark, reaper, timeout="1h")
            first.holds(inner, verdict="keep", reason="waiting", socket="peer-closed")
            settle()
            due = reaper.audit().expect(1)
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
