# SPDX-License-Identifier: Apache-2.0
"""Every state that a worker of real pyjava can be in, judged and swept with the fastest settings.

As in tests/spark: each test brings one worker into its state, looks at it with `audit`, lets
`sweep` loose on that JVM, compares the processes before and after, and sees that the next task
works. Nothing writes markers here.
"""

import time

import checks
import procs
import pytest
from checks import LEAK, READ, RECVFROM, keeps, settle, suspected, sweep_ends
from pyjavahost import WRITE, machine_gain, pss_bytes, wait_asleep
from states import SIGNED_OFF, UNREAD, closed, failed, reaped_quietly

NO_MARKER = "no marker: cannot tell pooled from leaked"


class TestSignedOff:
    """It did not read its input, or raised: it leaves the protocol by itself, and stays."""

    def test_issue_1652(self, host, reaper):
        worker = failed(host, "issue_1652", "UnsupportedOperationException")
        checks.wait_blocked(worker, RECVFROM)
        settle()
        assert len(procs.socket_inodes(worker.pid)) == 1
        reaped_quietly(host, reaper, worker, recv_queue=0, send_queue=0, **SIGNED_OFF,
                       **{"class": "pyjava"})

    def test_python_raised(self, host, reaper):
        worker = failed(host, "raises", "no such column")
        checks.wait_blocked(worker, RECVFROM)
        settle()
        reaped_quietly(host, reaper, worker, **SIGNED_OFF)

    def test_host_still_reads(self, host, reaper):
        job = host.begin("slow_host")
        worker = host.noted(job)
        checks.wait_blocked(worker, RECVFROM)
        settle()
        result = keeps(host, reaper, worker, reason="unread-bytes", fence="signed-off",
                       socket="signed-off", blocked_in="recv")
        assert result.worker(worker)["send_queue"] > 0, result
        host.open_gate(job)
        assert host.value(job) == ["x" * 1000] * 5_000
        host.healthy()


class TestForgotten:
    """From outside like one in use: no proof without markers."""

    def test_input_read(self, host, reaper):
        worker = failed(host, "input_read")
        checks.wait_blocked(worker, READ)
        settle()
        assert len(procs.socket_inodes(worker.pid)) == 3
        keeps(host, reaper, worker, reason="idle", fence="none", socket="established",
              blocked_in="read", wait_forever=True, recv_queue=0, send_queue=0)
        suspected(host, reaper, worker)
        reaper.audit(silent_after="1s").holds(worker, missing=NO_MARKER)
        proofs = {row["name"]: row for row in reaper.explain(worker.pid)["proofs"]}
        assert not any(row["holds"] for row in proofs.values()), proofs
        assert "marker log" in proofs["retired"]["how_to_get"]
        host.healthy()

    def test_blocked_in_write(self, host, reaper):
        worker = failed(host, "big_result")
        checks.wait_blocked(worker, WRITE)
        settle()
        result = keeps(host, reaper, worker, reason="idle", fence="none", socket="established",
                       blocked_in="write", wait_forever=True, recv_queue=0)
        assert result.worker(worker)["send_queue"] > 1_000_000, result
        suspected(host, reaper, worker)
        reaper.audit(silent_after="1s").holds(worker, missing=NO_MARKER)
        host.healthy()


class TestClosed:
    """The host closed the task, as byzer-lang does since 2022."""

    def test_in_user_code(self, host, reaper):
        job, worker = closed(host, "closed")
        assert host.value(job) == []
        checks.wait_half_closed(worker)
        settle()
        reaped_quietly(host, reaper, worker, reason="peer-closed", fence="peer-closed",
                       socket="peer-closed", blocked_in={"sleep", "select"}, recv_queue=0)

    def test_input_unread(self, host, reaper):
        job, worker = closed(host, "closed_unread")
        assert host.value(job) == []
        checks.wait_half_closed(worker)
        settle()
        result = reaped_quietly(host, reaper, worker, socket="peer-closed", send_queue=0, **LEAK)
        assert result.worker(worker)["recv_queue"] > 1, result

    def test_close_hangs(self, host, reaper):
        """pyjava's own deadlock: close() waits for the thread that writes to the worker. Nothing
        proves that the task is over but the operator's word, which frees the host's thread."""
        job, worker = closed(host, "closed_stuck")
        settle()
        assert not host.over(job)
        keeps(host, reaper, worker, reason="idle", fence="none", socket="established",
              blocked_in="poll")
        suspected(host, reaper, worker)
        row = reaper.audit(silent_after="1s").holds(worker, missing=NO_MARKER, send_queue=0)
        assert row["recv_queue"] > UNREAD, row
        assert not host.over(job)
        reaper.run("retire", str(worker.pid)).expect(0)
        settle()
        reaped_quietly(host, reaper, worker, reason="retired", fence="retired", marker="retired",
                       socket="established", blocked_in="poll")
        assert host.value(job, 10) == []


class TestInUse:
    """What pyjava still uses is never ended, however long it is silent."""

    def test_pooled(self, host, reaper):
        pooled = host.pool(2)
        settle()
        for worker in pooled:
            keeps(host, reaper, worker, reason="idle", fence="none", socket="established",
                  blocked_in="read", marker="none")
        suspected(host, reaper, pooled[0])
        assert set(host.pool(2)) == set(pooled), "the pool was not used again"

    def test_serving(self, host, reaper):
        job = host.begin("serving")
        worker = host.noted(job)
        wait_asleep(worker)
        settle()
        keeps(host, reaper, worker, reason="idle", fence="none", socket="established",
              blocked_in={"sleep", "select"}, wait_forever=False)
        suspected(host, reaper, worker)
        host.wake(job, worker)
        assert worker in host.pool(3), "it did not go back to the pool"

    def test_long_idle_time(self, patient, reaper_for):
        """Idle for longer than other hosts of its class keep a worker: nothing outside of the JVM
        shows what this one does."""
        reaper = reaper_for(patient)
        time.sleep(max(0.0, patient.pooled_at + 90 - time.monotonic()))
        for worker in patient.pooled:
            keeps(patient, reaper, worker, reason="idle", fence="none", socket="established")
        suspected(patient, reaper, patient.pooled[0])
        assert set(patient.pool(2)) == set(patient.pooled), "the pool was not used again"

    def test_daemon_killed(self, start_pyjava, reaper_for):
        """The pool is the host's: orphans of a dead daemon go on serving in it, and then beside the
        workers of a new one."""
        host = start_pyjava("dead-daemon")
        try:
            pooled = host.pool(2)
            (daemon,) = host.daemons()
            procs.end_and_wait(daemon)
            reaper = reaper_for(host)
            job = host.begin("serving")
            worker = host.noted(job)
            assert worker in pooled and procs.read_stat(worker.pid).ppid != daemon.pid
            wait_asleep(worker)
            settle()
            for one in pooled:
                keeps(host, reaper, one, reason="idle", fence="none", socket="established")
                suspected(host, reaper, one)
            host.wake(job, worker)
            assert set(host.pool(3)) > set(pooled)
            assert len(host.daemons()) == 1 and daemon not in host.daemons()
            settle()
            for one in pooled:
                keeps(host, reaper, one, reason="idle", fence="none", socket="established")
            assert set(host.pool(3)) > set(pooled)
        finally:
            host.close()


class TestTogether:
    def test_leaks_among_their_neighbours(self, host, reaper):
        """All at once: one sweep ends what is due and nobody else, and every task ends right."""
        due = {failed(host, "issue_1652", "UnsupportedOperationException"),
               failed(host, "raises", "no such column")}
        for kind in ("closed", "closed_unread"):
            job, worker = closed(host, kind)
            assert host.value(job) == []
            checks.wait_half_closed(worker)
            due.add(worker)
        settle()  # a thread that writes, begun earlier, could still be one that writes to these
        others = {failed(host, "input_read"), failed(host, "big_result")}
        stuck, deadlocked = closed(host, "closed_stuck")
        slow, serving = host.begin("slow_host"), host.begin("serving")
        others |= {deadlocked, host.noted(slow), host.noted(serving), *host.pool(2)}
        settle()
        result = sweep_ends(host, reaper, due, silent_after="1s")
        for worker in others:
            result.holds(worker, verdict={"keep", "suspect"})
        host.open_gate(slow)
        assert len(host.value(slow)) == 5_000
        host.wake(serving, host.noted(serving))
        assert not host.over(stuck)
        host.healthy()

    def test_twenty_leaks_of_50_mb(self, start_pyjava, reaper_for, capsys):
        """What a sweep says that it freed is what the machine has got back. Once more if not: other
        processes take and give back memory in the same moment."""
        host = start_pyjava("leaks")
        try:
            for last in (False, True):
                freed, gained = sweep_leaks(host, reaper_for(host))
                with capsys.disabled():
                    print(f"\n20 leaks of 50 MB: {freed >> 20} MiB freed as one sweep says, "
                          f"{gained >> 20} MiB gained by the machine")
                if abs(freed - gained) <= 0.15 * gained:
                    break
                assert not last, f"{freed} bytes freed, {gained} gained"
        finally:
            host.close()


def sweep_leaks(host, reaper):
    """Make 20 leaks of 50 MB and end them with one sweep; (bytes freed, bytes gained)."""
    host.healthy()
    jobs = [host.begin("issue_1652_50_mb") for _ in range(20)]
    for job in jobs:
        host.failure(job)
    leaks = {host.noted(job) for job in jobs}
    for worker in leaks:
        checks.wait_blocked(worker, RECVFROM)
    checks.wait_due(reaper, leaks)
    shares = sum(pss_bytes(worker.pid) for worker in leaks)
    told = reaper.audit().expect(1).doc["summary"]
    assert told["reap"] == 20
    result, gained = machine_gain(leaks, lambda: sweep_ends(host, reaper, leaks))
    freed = sum(row["freed_bytes"] for row in result.actions)
    assert freed > 20 * (50 << 20)
    assert freed == pytest.approx(shares, rel=0.02)
    assert told["reclaimable_bytes"] == pytest.approx(shares, rel=0.02)
    host.healthy()
    return freed, gained
