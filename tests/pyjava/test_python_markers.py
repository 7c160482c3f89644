# SPDX-License-Identifier: Apache-2.0
"""pyjava's Python side with a marker log of its own: `python.daemon.module=reaper_pyjava`.

Results are what they are without it; reaper shows which worker has which task of which job, and
what was proven without markers is proven with them.
"""

import collections
import pathlib
import subprocess

import checks
import procs
import pytest
from checks import READ, RECVFROM, reaped, settle, suspected, sweep_ends
from pyjavahost import wait_asleep
from spark.test_python_markers import NAME, PYTHON, comm, records

JOB = "job 7"
CONF = {"python.daemon.module": "reaper_pyjava", "groupId": JOB}


@pytest.fixture
def host(shared_spark, logs):
    """A JVM whose daemon writes a marker log."""
    return shared_spark("markers", conf=CONF, logs=logs, env={"PYTHONPATH": str(PYTHON)})


def identity(who):
    return f"{who.pid}:{who.start}"


def of_worker(logs, who):
    """[event, task or code] of this worker, in order."""
    return [(event, fields.get("task", fields.get("code"))) for event, fields in records(logs)
            if fields.get("worker") == identity(who)]


def last_task(logs, who):
    return [value for event, value in of_worker(logs, who) if event == "begin"][-1]


def told(text):
    """What the task's host was told by Python."""
    return text[text.index("Traceback"):].partition("\n\n")[0]


def test_at_work_and_back_in_the_pool(host, reaper, logs):
    """Its task is open while it runs, and it says when it is done; pooled it stays as it was."""
    pooled = host.pool(2)
    job = host.begin("serving")
    worker = host.noted(job)
    wait_asleep(worker)
    procs.until("the others are done", lambda: all(
        comm(who) == "python:idle" for who in set(pooled) - {worker}))
    settle()
    result = reaper.audit().expect(0)
    task = last_task(logs, worker)
    row = result.holds(worker, verdict="keep", reason="serving", marker="open",
                       **{"class": "pyjava"})
    assert row["tasks"][0] == task and row["job"] == JOB, row
    assert comm(worker) == f"{NAME}{task}"[:15]
    for who in set(pooled) - {worker}:
        result.holds(who, verdict="keep", marker="done")
        assert comm(who) == "python:idle"
    sweep_ends(host, reaper)
    host.wake(job, worker)
    assert worker in host.pool(3)


def test_results_are_the_same(host, start_pyjava):
    """Value by value, and error by error, beside a JVM with pyjava's own daemon."""
    stock = start_pyjava("stock")
    try:
        slow = [one.begin("slow_host") for one in (host, stock)]
        for one, job in zip((host, stock), slow):
            one.open_gate(job)
            assert one.value(job) == ["x" * 1000] * 5_000
        assert host.healthy() and stock.healthy()
        raised = [one.begin("raises") for one in (host, stock)]
        errors = [told(one.failure(job)) for one, job in zip((host, stock), raised)]
        assert errors[0] == errors[1] and "ValueError: no such column" in errors[0]
        procs.end_and_wait(host.noted(raised[0]))
    finally:
        stock.close()


def test_every_task_is_told_once(host, logs):
    """The log says first which daemon writes it; each task is begun, and done by its worker."""
    workers = host.pool(3)
    host.healthy()
    # it is done when its last byte is sent, so its host may know its result before the log does
    procs.until("each worker has said that it is done", lambda: all(
        of_worker(logs, who)[-1][0] == "done" for who in workers))
    (daemon,) = host.daemons()
    assert records(logs)[0][0] == "daemon"
    assert records(logs)[0][1]["daemon"] == identity(daemon)
    begun = collections.Counter(fields["task"] for event, fields in records(logs)
                                if event == "begin")
    assert begun and set(begun.values()) == {1}, begun
    jobs = {fields["job"] for event, fields in records(logs) if event == "begin"}
    assert jobs == {"job%207"}
    for who in workers:
        events = of_worker(logs, who)
        assert [event for event, _ in events] == ["begin", "done"] * (len(events) // 2), events
        assert {value for event, value in events if event == "done"} == {"0"}, events


def test_a_worker_that_signed_off(host, reaper, logs):
    """Python says that it will serve no other task; the kernel is the proof, as without markers."""
    job = host.begin("issue_1652")
    host.failure(job)
    worker = host.noted(job)
    checks.wait_blocked(worker, RECVFROM)
    settle()
    assert of_worker(logs, worker)[-1] == ("done", "-1")
    reaped(host, reaper, worker, reason="signed-off", fence="signed-off", marker="done")
    host.healthy()


def test_a_worker_that_was_forgotten(host, reaper):
    """Only the JVM could say that its task has ended."""
    job = host.begin("input_read")
    host.failure(job)
    worker = host.noted(job)
    checks.wait_blocked(worker, READ)
    settle()
    suspected(host, reaper, worker)
    reaper.audit(silent_after="1s").holds(worker, marker="done",
                                          missing="no end of its task in the markers")


def test_a_log_that_cannot_be_written(start_pyjava):
    """Tasks run as if nobody wrote a log; it is said once."""
    host = start_pyjava("no-log", conf=CONF, logs=pathlib.Path("/proc/nowhere"),
                        env={"PYTHONPATH": str(PYTHON)})
    try:
        assert host.healthy() == host.healthy()
        assert host.said().count("going on without a log") == 1
    finally:
        host.close()


def test_another_signature(pyjava, logs):
    """A context that is made in another way gets what it asks for; it is counted, and no more."""
    code = ("import reaper_pyjava as r; r._pyjava_context = lambda *a, **k: (a, k)\n"
            "assert r._context('task', more=1) == (('task',), {'more': 1})\n"
            "assert r._log.failures == 1")
    subprocess.run([f"{pyjava['bin']}/python", "-c", code], check=True, timeout=60,
                   env={"PYTHONPATH": str(PYTHON), "REAPER_MARKER_DIR": str(logs)})
