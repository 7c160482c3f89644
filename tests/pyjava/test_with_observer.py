# SPDX-License-Identifier: Apache-2.0
"""Real pyjava in a JVM that says what it knows: reaper-pyjava.jar, whose observer the driver starts
and tells of each task. What the kernel cannot prove is proven by its marker log.

REAPER_PYJAVA_JAR   the jar, or a class path of jars, that holds reaper.pyjava.Observer
"""

import os
import pathlib
import subprocess

import binary
import checks
import procs
import pytest
from checks import POLL, READ, RECVFROM, keeps, settle, sweep_ends
from pyjavahost import WRITE, wait_asleep
from spark.test_python_markers import PYTHON
from states import SIGNED_OFF, UNREAD, closed, failed, reaped_quietly

JVM = binary.REPO / "hosts" / "jvm"
BYZER = [JVM / "byzer-stubs/src/main/java/tech/mlsql/job/JobListener.java",
         JVM / "pyjava/src/test/java/tech/mlsql/job/JobManager$.java",
         pathlib.Path(__file__).with_name("driver") / "Byzer.java"]
RETIRED = {"reason": "retired", "fence": "retired", "marker": "retired", "socket": "established"}
POLLS_S = 12  # long enough for several beats of the observer


@pytest.fixture(scope="module")
def jar():
    named = os.environ.get("REAPER_PYJAVA_JAR", "")
    missing = [one for one in named.split(":") if not pathlib.Path(one).is_file()]
    if missing:
        pytest.fail(f"REAPER_PYJAVA_JAR names no jar: {missing}", pytrace=False)
    return named


@pytest.fixture(scope="module")
def byzer(pyjava, jar, tmp_path_factory):
    """A class path with the jar and a stand-in for Byzer's JobManager."""
    classes = tmp_path_factory.mktemp("byzer")
    subprocess.run(["javac", "--release", "11", "-nowarn", "-proc:none", "-d", classes, "-cp", jar,
                    *BYZER], check=True, timeout=300)
    return f"{classes}:{jar}"


@pytest.fixture
def host(shared_spark, jar, logs):
    """A JVM with the observer."""
    host = shared_spark("observed", jars=jar, logs=logs)
    assert host.observed, "reaper.pyjava.Observer is not in the jar"
    return host


def wait_marker(host, reaper, worker, marker):
    """Until the logs say so of it; meanwhile pyjava's pool is used, or its own purge would come."""

    def says():
        host.healthy()
        return reaper.audit().worker(worker)["marker"] == marker

    procs.until(f"{worker} is {marker}", says, 30, 1)


class TestForgotten:
    def test_input_read(self, host, reaper):
        worker = failed(host, "input_read")
        checks.wait_blocked(worker, READ)
        wait_marker(host, reaper, worker, "retired")
        settle()
        reaped_quietly(host, reaper, worker, blocked_in="read", **RETIRED)

    def test_blocked_in_write(self, host, reaper):
        worker = failed(host, "big_result")
        checks.wait_blocked(worker, WRITE)
        wait_marker(host, reaper, worker, "retired")
        settle()
        result = reaped_quietly(host, reaper, worker, blocked_in="write", **RETIRED)
        assert result.worker(worker)["send_queue"] > 1_000_000, result

    def test_signed_off(self, host, reaper):
        """The kernel's proof needs no marker, and is there first."""
        worker = failed(host, "issue_1652", "UnsupportedOperationException")
        checks.wait_blocked(worker, RECVFROM)
        settle()
        reaped_quietly(host, reaper, worker, **SIGNED_OFF)

    def test_close_hangs(self, host, reaper):
        """Its task has no end, so the observer cannot say that it is over."""
        job, worker = closed(host, "closed_stuck")
        checks.wait_blocked(worker, POLL)
        settle(POLLS_S)
        result = keeps(host, reaper, worker, fence="none", marker="open")
        assert result.worker(worker)["recv_queue"] > UNREAD, result
        reaper.run("retire", str(worker.pid)).expect(0)
        settle()
        reaped_quietly(host, reaper, worker, **RETIRED)
        assert host.value(job, 10) == []


class TestInUse:
    def test_nothing_that_is_used_is_retired(self, host, reaper):
        """Pooled workers, one at work, one whose host reads slowly: for several beats, under sweeps
        that would end whatever was given up."""
        pooled = host.pool(3)
        serving, slow = host.begin("serving"), host.begin("slow_host")
        workers = {*pooled, host.noted(serving), host.noted(slow)}
        wait_asleep(host.noted(serving))
        checks.wait_blocked(host.noted(slow), RECVFROM)
        for _ in range(POLLS_S):
            settle(1)
            result = sweep_ends(host, reaper, silent_after="1s")
            for worker in workers:
                row = result.worker(worker)
                assert row["verdict"] != "reap" and row["marker"] != "retired", row
        for job in (serving, slow):
            result.holds(host.noted(job), marker={"open", "leased"})
        host.open_gate(slow)
        assert host.value(slow) == ["x" * 1000] * 5_000
        host.wake(serving, host.noted(serving))
        assert set(host.pool(3)) & set(pooled)


class TestByzer:
    """A job ends in the JobManager's finally, whatever its tasks have forgotten to close."""

    @pytest.fixture(params=["", "reaper_pyjava"], ids=["jvm", "jvm-and-python"])
    def host(self, request, shared_spark, byzer, logs):
        """Alone, and with Python's side, which has names of its own for the tasks of a job."""
        module = request.param
        return shared_spark(f"byzer{module}", jars=byzer, logs=logs, observer="Byzer",
                            conf={"python.daemon.module": module} if module else {},
                            env={"PYTHONPATH": str(PYTHON)})

    def test_forgotten_while_another_job_runs(self, host, reaper):
        job = host.begin("serving")
        worker = failed(host, "input_read")
        checks.wait_blocked(worker, READ)
        wait_marker(host, reaper, worker, "retired")
        settle()
        result = reaped_quietly(host, reaper, worker, blocked_in="read", **RETIRED)
        result.holds(host.noted(job), verdict="keep", marker="open", job=f"job-{job}")
        host.wake(job, host.noted(job))
        assert host.noted(job) in host.pool(3)
