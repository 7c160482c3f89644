# SPDX-License-Identifier: Apache-2.0
"""Programs that no daemon forks (`kind = single`): found by their arguments, reported when they are
stuck, ended only by their own word or the operator's, and only where their class allows it."""

from __future__ import annotations

import contextlib
import os
import pathlib
import socket
import threading
from collections.abc import Iterator

import pytest

from harness import procs
from harness.binary import Reaper, Result
from harness.program import Program

PYTHON = pathlib.Path(__file__).resolve().parents[2] / "hosts" / "python"
CLASS = "[class nightly]\nkind = single\nargs = nightly.py\nrole_args = --role\n"
STUCK = {"policy.silent_after": "1s"}
MAY_KILL = {"class nightly.may_kill": "yes"}

# What the jobs do; each says "ready" where it is going to stay.
TASK = "with r.task('17', job='nightly'):\n    sum(range(1000))\n"
TERM = """
context = zmq.Context()
out = context.socket(zmq.PUSH)
out.connect('tcp://127.0.0.1:%d' % int(sys.argv[1]))
out.send(b'never read')
out.close(linger=-1)
ready()
context.term()
"""
HEAD = """
import os, subprocess, sys, time
import zmq
import reaper_markers as r
def ready():
    print('ready', flush=True)
"""


def nightly(reaper: Reaper, folder: pathlib.Path, code: str, *args: str) -> Program:
    """A program called nightly.py, which can write a log."""
    return Program(
        folder / "nightly.py", HEAD + code, *args,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(PYTHON), "PYTHONDONTWRITEBYTECODE": "1",
             "REAPER_MARKER_DIR": str(reaper.marker_dir)})


@pytest.fixture
def silent_peer() -> Iterator[int]:
    """A port that accepts and never says a word: what is sent to it waits for ever."""
    with socket.create_server(("127.0.0.1", 0)) as server, contextlib.ExitStack() as kept:
        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    kept.enter_context(server.accept()[0])

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.fixture
def job(reaper: Reaper, tmp_path: pathlib.Path) -> Iterator[object]:
    """Starts jobs, and ends them."""
    started: list[Program] = []

    def start(code: str, *args: object) -> Program:
        started.append(nightly(reaper, tmp_path, code, *map(str, args)))
        return started[-1]

    reaper.write_config(CLASS)
    yield start
    for one in started:
        one.finish()


def audit_until(reaper: Reaper, one: Program, reason: str, settings: dict[str, str]) -> Result:
    """The first audit of it that gives this reason."""
    last: list[Result] = []

    def is_so() -> bool:
        last[:] = [reaper.audit(one, settings=settings)]
        return last[0].worker(one)["reason"] == reason

    try:
        procs.until(reason, is_so, 15)
    except AssertionError as error:
        raise AssertionError(f"{error}: {last[0]}") from None
    return last[0]


def test_stuck_in_term(reaper: Reaper, job, silent_peer: int) -> None:
    """A zmq context that never terminates: no CPU, no log line, for ever."""
    one = job(TERM, silent_peer, "--role=sender")
    procs.until("it is connected", lambda: any(
        s["remote"] == f"127.0.0.1:{silent_peer}"
        for s in reaper.audit(one).worker(one)["sockets"]), 10)
    result = audit_until(reaper, one, "stuck-wait", STUCK)
    found = result.expect(0).worker(one)
    assert (found["verdict"], found["role"], found["label"]) == ("suspect", "single", "sender")
    assert found["fence"] == "none"
    assert (found["blocked_in"], found["wait_forever"]) == ("poll", True)
    assert found["blocked_ms"] >= 1000 and found["class"] == "nightly"
    assert "no marker log of its own" in found["missing"]
    assert "poll without a timeout" in found["why"]
    assert result.doc["hosts"] == [] and result.doc["summary"]["singles"] == 1
    text = reaper.run("audit", host=one, settings=STUCK).expect(0).out
    assert "class nightly  1 single" in text and "role sender" in text
    assert f"to 127.0.0.1:{silent_peer}, " in text
    explained = reaper.run("--json", "explain", str(one.pid), settings=STUCK).expect(0)
    assert explained.doc["explain"]["role"] == "single"
    assert f"to 127.0.0.1:{silent_peer}" in reaper.run("explain", str(one.pid)).expect(0).out
    swept = reaper.sweep(one, settings={**STUCK, **MAY_KILL}).expect(0)
    assert swept.verdict(one) == ("suspect", "stuck-wait")
    assert swept.doc["actions"] == [] and not one.pinned.has_ended()


def test_done_and_hanging(reaper: Reaper, job, silent_peer: int) -> None:
    """Its own log tells a hang after the work from work; may_kill says what may be done about it."""
    one = job(TASK + "r.done()\n" + TERM, silent_peer)
    other = job(TERM, silent_peer)
    found = audit_until(reaper, one, "stuck-wait", STUCK).expect(0).worker(one)
    assert (found["verdict"], found["fence"]) == ("suspect", "none")
    assert "may_kill" in found["missing"]
    swept = reaper.sweep((one, other), settings=STUCK).expect(0)
    assert swept.doc["actions"] == [] and not one.pinned.has_ended()
    result = audit_until(reaper, one, "task-ended", {**STUCK, **MAY_KILL}).expect(1)
    assert (result.worker(one)["verdict"], result.worker(one)["fence"]) == ("reap", "task-ended")
    assert result.doc["hosts"] == []
    found = audit_until(reaper, other, "stuck-wait", {**STUCK, **MAY_KILL}).expect(0).worker(other)
    assert (found["verdict"], found["fence"]) == ("suspect", "none")
    swept = reaper.sweep((one, other), settings={**STUCK, **MAY_KILL}).expect(0)
    assert [(a["pid"], a["role"], a["outcome"]) for a in swept.doc["actions"]] == \
        [(one.pid, "single", "exited")]
    assert one.pinned.has_ended(5) and not other.pinned.has_ended()
    intent, outcome = reaper.audit_records()
    assert (intent["role"], intent["fence"], outcome["outcome"]) == ("single", "task-ended", "exited")


ROWS = {
    "a task runs": "r.program().begin('17')\n" + TERM,
    "a second task runs": TASK + "r.program().begin('18')\n" + TERM,
    "a task of the same name runs": TASK + "r.program().begin('17')\n" + TERM,
    "the begin of a second task was lost":
        TASK + "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))\n"
        "r.program().begin('18')\n" + TERM,
    "a line is no record":
        TASK + "os.write(r.program().log._fd, b'reaper/1 %d begin\\n' % (time.time() * 1000))\n" + TERM,
    "it has no task": "r.done()\n" + TERM,
    "no log": TERM,
    "a pool is promised": "log = r.Log('host', **{'class': 'nightly', 'pool': 'reported'})\n"
                          "who = r.identity()\nlog.write('begin', task='1', worker=who)\n"
                          "log.write('end', task='1')\n" + TERM,
}


@pytest.mark.parametrize("name", ROWS)
def test_not_proven(reaper: Reaper, job, silent_peer: int, name: str) -> None:
    """With one condition missing nothing ends it, whatever may_kill says."""
    control = job(TASK + "r.done()\n" + TERM, silent_peer)
    one = job(ROWS[name], silent_peer)
    settings = {**STUCK, **MAY_KILL}
    audit_until(reaper, control, "task-ended", settings)
    found = audit_until(reaper, one, "stuck-wait", settings).worker(one)
    assert found["verdict"] == "suspect" and found["fence"] == "none"
    swept = reaper.sweep((one, control), settings=settings).expect(0)
    assert {a["pid"] for a in swept.doc["actions"]} == {control.pid}
    assert not one.pinned.has_ended()


def test_it_works_on(reaper: Reaper, job, silent_peer: int) -> None:
    """One that does other things after its last task did not end with it."""
    one = job(TASK + "ready()\nuntil = time.monotonic() + 12\n"
              "while time.monotonic() < until:\n    time.sleep(0.05)\n" + TERM, silent_peer)
    one.says()
    settings = {**STUCK, **MAY_KILL}
    found = audit_until(reaper, one, "stuck-wait", settings).worker(one)
    assert found["verdict"] == "suspect" and "does not say that its work is done" in found["missing"]


def test_operator_gives_it_up(reaper: Reaper, job, silent_peer: int) -> None:
    """`retire` needs may_kill too, and is all that a program without a log can be ended by."""
    one = job(TERM, silent_peer)
    refused = reaper.run("retire", str(one.pid), settings=STUCK).expect(3)
    assert "may_kill" in refused.err
    settings = {**STUCK, **MAY_KILL}
    reaper.run("retire", str(one.pid), settings=settings).expect(0)
    audit_until(reaper, one, "retired", settings).expect(1)
    assert not one.pinned.has_ended()
    reaper.sweep(one, settings=settings).expect(0)
    assert one.pinned.has_ended(5)


def test_what_it_forked_and_what_it_started(reaper: Reaper, job, silent_peer: int) -> None:
    """A forked child goes with it; a program that it started is one of its own."""
    fork = ("child = os.fork()\nif not child:\n    time.sleep(600)\n"
            "other = subprocess.Popen(['sleep', '600'])\n")
    tell = TERM.replace("ready()", "ready()\nprint(child, other.pid, flush=True)")
    one = job(TASK + "r.done()\n" + fork + tell, silent_peer)
    child, other = (procs.Pinned(int(pid)) for pid in one.says().split())
    try:
        settings = {**STUCK, **MAY_KILL}
        result = audit_until(reaper, one, "task-ended", settings)
        roles = {w["pid"]: w["role"] for w in result.doc["workers"]}
        assert roles == {one.pid: "single", child.pid: "helper"}
        swept = reaper.sweep(one, settings=settings).expect(0)
        assert {a["pid"]: a["role"] for a in swept.doc["actions"]} == roles
        assert child.has_ended(5) and not other.has_ended()
    finally:
        for pinned in (child, other):
            pinned.kill()


def test_at_work(reaper: Reaper, job) -> None:
    """One that computes, and one that waits for a time, are let alone."""
    busy = job("ready()\nwhile True:\n    pass\n")
    asleep = job("ready()\ntime.sleep(600)\n")
    procs.until("they are old enough", lambda: reaper.audit(
        (busy, asleep)).worker(asleep)["blocked_ms"] > 2000, 15)
    result = reaper.audit((busy, asleep), settings=STUCK).expect(0)
    assert result.verdict(busy) == ("keep", "serving")
    assert result.verdict(asleep) == ("keep", "idle")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can look with two users' eyes")
def test_without_its_class(reaper: Reaper, job, silent_peer: int) -> None:
    """No class, no single: then it is of no role, and `retire` refuses it."""
    one = job(TASK + "r.done()\n" + TERM, silent_peer)
    reaper.write_config("")
    assert reaper.run("--json", "explain", str(one.pid)).expect(0).doc["explain"]["role"] != "single"
    reaper.run("retire", str(one.pid)).expect(3)
