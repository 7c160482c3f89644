# SPDX-License-Identifier: Apache-2.0
"""Spark's Python side with a marker log of its own: `spark.python.daemon.module=reaper_pyspark`.

Results are what they are without it; reaper shows which worker has which task, and what was proven
without markers is proven with them.
"""

import collections
import pathlib
import signal

import pytest

import binary
import checks
import procs
from checks import LEAK, POLL, next_job_works, reaped, settle, sweep_ends
from procs import Proc

PYTHON = binary.REPO / "hosts" / "python"
NAME = "python:t"  # how a worker at work is named; behind it the task


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    return tmp_path_factory.mktemp("marker-logs")


@pytest.fixture
def spark(shared_spark, logs):
    return shared_spark("markers", conf={"spark.python.daemon.module": "reaper_pyspark"},
                        env={"PYTHONPATH": str(PYTHON), "REAPER_MARKER_DIR": str(logs)})


@pytest.fixture
def reaper(reaper_for, spark, logs):
    reaper = reaper_for(spark)
    reaper.settings["reaper.marker_dir"] = str(logs)
    return reaper


def records(logs):
    """[event, {key: value}] of every record, log by log in the order of each."""
    found = []
    for path in sorted(logs.glob("*.log")):
        for line in path.read_text("ascii").splitlines():
            version, _, event, *pairs = line.split(" ")
            assert version == "reaper/1", line
            found.append((event, dict(pair.split("=", 1) for pair in pairs)))
    return found


def comm(who: Proc) -> str:
    return pathlib.Path(f"/proc/{who.pid}/comm").read_text("ascii").strip()


def test_a_worker_at_work_and_back_in_the_pool(spark, reaper):
    """Its task is open while it runs, and it says when it is done; pooled it stays as it was."""
    pooled = spark.pool(2)
    job = spark.begin("sleeping")
    worker = spark.noted(job)
    procs.until("the others are done", lambda: all(
        comm(who) == "python:idle" for who in set(pooled) - {worker}))
    settle()
    result = reaper.audit().expect(0)
    row = result.holds(worker, verdict="keep", reason="serving", marker="open")
    assert comm(worker) == f"{NAME}{row['tasks'][0]}"
    others = [who for who in pooled if who != worker]
    for who in others:
        result.holds(who, verdict="keep", marker="done")
        assert comm(who) == "python:idle"
    sweep_ends(spark, reaper)
    assert procs.send(worker, signal.SIGUSR1)
    assert spark.value(job) == [list(worker)]
    assert set(spark.pool(2)) <= set(pooled) | {worker}


def test_a_leak_with_an_open_task(spark, reaper):
    """The log never hears that its task has ended; the kernel knows better."""
    job = spark.begin("early_arrow")
    spark.value(job)
    worker = spark.noted(job)
    checks.wait_half_closed(worker)
    checks.wait_blocked(worker, POLL)
    settle()
    reaped(spark, reaper, worker, socket="peer-closed", marker="open", **LEAK)
    next_job_works(spark)


def test_every_task_is_told_once(spark, logs):
    """Each log says first which daemon writes it; what began is done, but for who leaked."""
    rows = spark.run("pooled", workers=4)
    assert [row[2] for row in rows] == [0] * 4
    assert len(spark.run("pooled_udf")) > 0
    workers = {f"{row[0]}:{row[1]}" for row in rows}
    # it is done when its last byte is sent, so its host may know its result before the log does
    procs.until("each worker has said that it is done", lambda: {
        fields["worker"]: event for event, fields in records(logs)
        if fields.get("worker") in workers} == dict.fromkeys(workers, "done"))
    begun, done, daemons = collections.Counter(), collections.Counter(), []
    for event, fields in records(logs):
        if event == "daemon":
            daemons.append(fields["daemon"])
        elif event == "begin":
            begun[fields["task"], fields["worker"]] += 1
        elif event == "done":
            done[fields["worker"]] += 1
    assert {f"{who.pid}:{who.start}" for who in spark.daemons()} <= set(daemons)
    assert begun and set(begun.values()) == {1}, begun
    by_worker = collections.Counter(worker for _, worker in begun)
    for worker in workers:
        assert done[worker] == by_worker[worker] > 0
