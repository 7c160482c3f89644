# SPDX-License-Identifier: Apache-2.0
"""What dies by a signal again and again: told at once, with the signal and the times between."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import shutil
import subprocess
import threading
import time
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from harness import procs
from harness.binary import Reaper, Watch, schema
from harness.minihost import PATH, TAG, Daemon, MiniHost, Worker
from harness.privilege import PRIVATE_UID, needs_root, needs_strace

PYTHON = shutil.which("python3", path=PATH) or "python3"
EVERY_SECOND = {"reaper.interval": "1s"}
NOBODY_LISTENS = {"NOTIFY_SOCKET": ""}  # a service manager that does not read holds watch up
CALLERS = 10
NEAR_MS = 300  # between a death and the moment at which two programs on a busy machine hear of it
LIVES_S = 2.0

# A model server: answers callers, and dies as a faulty extension does.
SERVER = f"""
import ctypes, socket, sys, time
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=64)
listener.settimeout(0.05)
until = time.monotonic() + {LIVES_S}
while time.monotonic() < until:
    try:
        conn, _ = listener.accept()
    except TimeoutError:
        continue
    with conn:
        conn.sendall(b"42" if conn.recv(16) else b"")
if sys.argv[2] == "segv":
    ctypes.string_at(0)
sys.exit(int(sys.argv[2]))
"""

# Starts it again and again, asks for its end, and writes down when and how it ended. A "container"
# is what a container's runtime makes of it: pid 1 of a pid namespace of its own each time.
SUPERVISOR = """
import ctypes, json, os, sys, time
CLONE_NEWPID = 0x20000000
libc = ctypes.CDLL(None, use_errno=True)
record, kind, uid, *argv = sys.argv[1:]
own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
while True:
    if kind == "container" and (libc.setns(own, CLONE_NEWPID) or libc.unshare(CLONE_NEWPID)):
        sys.exit(f"no pid namespace: {os.strerror(ctypes.get_errno())}")
    pid = os.fork()
    if pid == 0:
        os.setgroups([])
        os.setresgid(int(uid), int(uid), int(uid))
        os.setresuid(int(uid), int(uid), int(uid))
        os.execv(argv[0], argv)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    died = time.time() * 1000
    if kind == "slow":
        time.sleep(0.5)
    status = os.waitpid(pid, 0)[1]
    with open(record, "a", encoding="ascii") as out:
        out.write(json.dumps({"pid": pid, "status": status, "ms": died}) + "\\n")
    time.sleep(0.1)
"""


class Server:
    """A model server of an ordinary user, under a supervisor, and ten callers."""

    def __init__(self, folder: pathlib.Path, kind: str, way: str) -> None:
        self.record = folder / "deaths"
        self.record.touch()
        self.program = folder / "server.py"
        self.program.write_text(SERVER)
        supervisor = folder / "supervisor.py"
        supervisor.write_text(SUPERVISOR)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        key, value = TAG, f"{uuid.uuid4()}"
        self.tag = f"{key}={value}".encode()
        self.process = subprocess.Popen(
            [PYTHON, str(supervisor), str(self.record), kind, str(PRIVATE_UID),
             PYTHON, str(self.program), str(self.port), way],
            env={"PATH": PATH, key: value}, cwd=folder, start_new_session=True,
            stderr=subprocess.DEVNULL)
        self.stopping = threading.Event()
        self.answers = [0] * CALLERS
        self.callers = [threading.Thread(target=self.call, args=(i,)) for i in range(CALLERS)]
        for caller in self.callers:
            caller.start()

    def call(self, caller: int) -> None:
        while not self.stopping.is_set():
            with contextlib.suppress(OSError):
                with socket.create_connection(("127.0.0.1", self.port), timeout=1) as conn:
                    conn.sendall(b"question")
                    self.answers[caller] += conn.recv(16) == b"42"
            time.sleep(0.02)

    def until_up(self) -> None:
        procs.until("an answer", lambda: any(self.answers))

    def deaths(self) -> list[dict[str, Any]]:
        """What the parent of the servers knows of their ends."""
        return [json.loads(line) for line in self.record.read_text().split("\n")[:-1]]

    def stop(self) -> None:
        """End the supervisor, its server, and the callers."""
        self.stopping.set()
        mine = {self.process.pid}
        left = procs.end_family(lambda: procs.family(mine, mine, self.tag))
        self.process.wait(10)
        for caller in self.callers:
            caller.join(10)
        assert not left, f"left behind: {left}"


@pytest.fixture
def serve(workdir: pathlib.Path) -> Iterator[Any]:
    """Start servers that end with the test."""
    started: list[Server] = []

    def start(kind: str = "plain", way: str = "segv") -> Server:
        started.append(Server(workdir, kind, way))
        started[-1].until_up()
        return started[-1]

    yield start
    for server in started:
        server.stop()


def watch_server(reaper: Reaper, server: Server, settings: dict[str, str],
                 prefix: tuple[str, ...] = ()) -> Watch:
    reaper.write_config(
        f"[class model]\nkind = single\nargs = {server.program}\nmay_kill = yes\n")
    return reaper.watch((), settings, NOBODY_LISTENS, prefix)


def suspected(watch: Watch) -> dict[str, Any]:
    """The server that lives, as watch told of it."""
    verdict = watch.until_event(event="verdict", verdict="suspect", reason="crash-loop")
    assert (verdict["role"], verdict["fence"]) == ("single", "none")
    assert "SIGSEGV" in verdict["why"]
    return verdict


def suspected_anew(watch: Watch) -> dict[str, Any]:
    """The same after a long time without a sweep: a reload begins with one. It may come between two
    servers, so there are several."""
    assert not [e for e in watch.events() if e["event"] == "verdict"], "no sweep saw it"

    def is_told() -> bool:
        watch.pinned.signal(signal.SIGHUP)
        time.sleep(0.5)
        return any(e.get("reason") == "crash-loop" for e in watch.events())

    watch.until("a verdict", is_told, 15)
    return suspected(watch)


def nobody_is_ended(reaper: Reaper, watch: Watch) -> None:
    """Neither by the watch, which has ended, nor by a sweep that sees a server."""
    assert not [e for e in watch.events() if e["event"] == "action"]

    def sees_it() -> bool:
        swept = reaper.sweep().expect(0)
        assert swept.doc["actions"] == [], swept
        return swept.doc["summary"]["singles"] > 0

    procs.until("a sweep sees a server", sees_it)


def validate(events: list[dict[str, Any]]) -> None:
    for event in events:
        schema().validate(event)


def same_ends(events: list[dict[str, Any]], server: Server) -> None:
    """Each end that was told is one that its parent saw: who, how, and when."""
    deaths = {death["pid"]: death for death in server.deaths()}
    for event in events:
        death = deaths[event["pid"]]
        assert os.WIFSIGNALED(death["status"])
        assert event["signal"] == os.WTERMSIG(death["status"])
        assert event["core_dumped"] == os.WCOREDUMP(death["status"])
        assert abs(event["ended"] - death["ms"]) < NEAR_MS


def same_times(exits: dict[str, Any], server: Server) -> None:
    """The times between are those of the parent's own record."""
    died = [death["ms"] for death in server.deaths()]
    for time_ms in exits["times"]:
        assert any(abs(time_ms - ms) < NEAR_MS for ms in died), (exits, died)
    first = min(range(len(died)), key=lambda i: abs(died[i] - exits["times"][0]))
    between = [b - a for a, b in zip(died[first:], died[first + 1:])]
    for told, was in zip(exits["between_ms"], between):
        assert abs(told - was) < NEAR_MS, (exits, died)


@needs_root
@pytest.mark.parametrize("interval", ["1s", "1h"])
def test_model_server(user_reaper: Reaper, serve: Any, interval: str) -> None:
    """A server that dies of SIGSEGV every two seconds under ten callers, as often as sweeps come, and
    with no sweep but the first: what came after a crash is found by a census, and the next sweep, which
    comes much later, knows of it."""
    server = serve()
    with watch_server(user_reaper, server, {"reaper.interval": interval}) as watch:
        loop = watch.until_event(event="crash-loop", timeout_s=40)
        assert (loop["role"], loop["class"], loop["label"]) == ("single", "model", None)
        exits = loop["exits"]
        assert exits["by_signal"] == [{"signal": signal.SIGSEGV, "name": "SIGSEGV", "count": 3}]
        assert exits["unseen"] == 0 and exits["restarts"] >= 2
        assert len(exits["times"]) == 3 and len(exits["between_ms"]) == 2
        assert "SIGSEGV" in loop["why"]
        procs.until("the third death's record", lambda: len(server.deaths()) >= 3)
        same_times(exits, server)
        verdict = suspected(watch) if interval == "1s" else suspected_anew(watch)
        assert verdict["pid"] not in {death["pid"] for death in server.deaths()[:3]}
        assert verdict["exits"]["by_signal"][0]["count"] >= 3
        ends = [e for e in watch.events() if e["event"] == "exit"]
        assert len(ends) >= 3 and all(e["counts"] and e["how"] == "signal" for e in ends)
        procs.until("their records", lambda: {e["pid"] for e in ends}
                    <= {death["pid"] for death in server.deaths()})
        same_ends(ends, server)
        assert len([e for e in watch.events() if e["event"] == "crash-loop"]) == 1
        validate(watch.events())
        assert watch.stop()[0] == 0
        nobody_is_ended(user_reaper, watch)
    assert all(server.answers), "the callers were served in between"


@needs_root
def test_a_containers_main_process(user_reaper: Reaper, serve: Any) -> None:
    """Pid 1 of another pid namespace each time: known by its arguments and its parent."""
    server = serve("container")
    with watch_server(user_reaper, server, EVERY_SECOND) as watch:
        loop = watch.until_event(event="crash-loop", timeout_s=40)
        assert loop["exits"]["by_signal"][0]["signal"] == signal.SIGSEGV
        assert loop["exits"]["restarts"] >= 2
        procs.until("the third death's record", lambda: len(server.deaths()) >= 3)
        same_times(loop["exits"], server)
        suspected(watch)
        validate(watch.events())
        assert watch.stop()[0] == 0
        nobody_is_ended(user_reaper, watch)


@needs_root
@needs_strace
def test_an_older_kernel(user_reaper: Reaper, serve: Any) -> None:
    """Before Linux 6.15 a pidfd does not tell how its process ended: its zombie does."""
    server = serve("slow")
    refused = ("strace", "-D", "-qq", "-o", "/dev/null", "-e", "trace=ioctl", "-e",
               "inject=ioctl:error=ENOTTY")
    with watch_server(user_reaper, server, EVERY_SECOND, refused) as watch:
        loop = watch.until_event(event="crash-loop", timeout_s=60)
        assert loop["exits"]["by_signal"] == [
            {"signal": signal.SIGSEGV, "name": "SIGSEGV", "count": 3}]
        procs.until("the third death's record", lambda: len(server.deaths()) >= 3)
        same_times(loop["exits"], server)


@needs_root
def test_a_code_is_no_crash(user_reaper: Reaper, serve: Any) -> None:
    """A server that exits with 3 again and again is shown, and is no crash loop."""
    server = serve(way="3")
    with watch_server(user_reaper, server, EVERY_SECOND) as watch:
        watch.until("four ends", lambda: len(
            [e for e in watch.events() if e["event"] == "exit"]) >= 4, 40)
        ends = [e for e in watch.events() if e["event"] == "exit"]
        assert all((e["how"], e["code"], e["signal"]) == ("code", 3, None) for e in ends)
        assert not any(e["counts"] for e in ends)
        assert all(e["event"] != "crash-loop" for e in watch.events())
        assert all(e.get("reason") != "crash-loop" for e in watch.events())
        validate(watch.events())


def metrics_file(reaper: Reaper) -> pathlib.Path:
    return reaper.home / "reaper.prom"


def counting(reaper: Reaper) -> dict[str, str]:
    """A watch whose sweeps can be counted."""
    return {**EVERY_SECOND, "reaper.metrics_file": str(metrics_file(reaper))}


def sweeps(reaper: Reaper) -> int:
    path = metrics_file(reaper)
    text = path.read_text() if path.exists() else ""
    return int((re.search(r"^reaper_sweeps_total (\d+)", text, re.M) or [0, 0])[1])


def seen_workers(reaper: Reaper, daemon: Daemon, count: int) -> list[Worker]:
    """New ones that a look has seen: of nobody else is the end told."""
    workers = [daemon.open() for _ in range(count)]
    before = sweeps(reaper)
    procs.until("a look sees them", lambda: sweeps(reaper) >= before + 2, 30)
    return workers


def test_workers(reaper: Reaper, host: MiniHost) -> None:
    """Three workers that die of SIGSEGV make their daemon suspect, and not its neighbour."""
    daemon, other = host.daemon(), host.daemon()
    pooled, beside = daemon.open(), other.open()
    with reaper.watch(host, counting(reaper), NOBODY_LISTENS) as watch:
        watch.until_event(event="sweep")
        victims, died = [], []
        for _ in range(3):
            victims += seen_workers(reaper, daemon, 1)
            before = time.monotonic()
            victims[-1].task("segv")
            watch.until_event(event="exit", pid=victims[-1].pid)
            died.append((before, time.monotonic()))
        loop = watch.until_event(event="crash-loop")
        assert (loop["role"], loop["daemon"]) == ("worker", daemon.pid)
        assert loop["host"] == host.pid and loop["class"] == "pyspark"
        assert loop["exits"]["by_signal"][0]["signal"] == signal.SIGSEGV
        for gap, (first, told), (second, last) in zip(
                loop["exits"]["between_ms"], died, died[1:], strict=False):
            assert 1000 * (second - told) - 20 <= gap <= 1000 * (last - first) + 20
        verdict = watch.until_event(event="verdict", role="daemon", pid=daemon.pid)
        assert (verdict["verdict"], verdict["reason"]) == ("suspect", "crash-loop")
        assert verdict["exits"]["by_signal"][0]["count"] == 3
        ends = [e for e in watch.events() if e["event"] == "exit"]
        assert {e["pid"] for e in ends} == {worker.pid for worker in victims}
        assert not [e for e in watch.events() if e.get("pid") in (other.pid, beside.pid)
                    and e.get("verdict") == "suspect"]
        validate(watch.events())
    assert pooled.serves() and beside.serves()


def test_daemons(reaper: Reaper, host: MiniHost) -> None:
    """Three daemons that die of SIGSEGV make the one beside them suspect, though one of its workers
    has crashed too."""
    doomed, last = [host.daemon() for _ in range(3)], host.daemon()
    pooled, victim = last.open(), last.open()
    with reaper.watch(host, EVERY_SECOND, NOBODY_LISTENS) as watch:
        watch.until_event(event="sweep")
        victim.task("segv")
        watch.until_event(event="exit", pid=victim.pid)
        for daemon in doomed:
            daemon.pinned.signal(signal.SIGSEGV)
            watch.until_event(event="exit", pid=daemon.pid)
        loop = watch.until_event(event="crash-loop")
        assert (loop["role"], loop["host"], loop["class"]) == ("daemon", host.pid, "pyspark")
        verdict = watch.until_event(event="verdict", role="daemon", pid=last.pid)
        assert (verdict["verdict"], verdict["reason"]) == ("suspect", "crash-loop")
        assert verdict["exits"]["by_signal"] == [
            {"signal": signal.SIGSEGV, "name": "SIGSEGV", "count": 3}]
        assert "3 daemons of its host and class" in verdict["why"]
        assert not [e for e in watch.events() if e["event"] == "action"]
        validate(watch.events())
    assert pooled.serves()


def test_ends_that_are_no_crash(reaper: Reaper, host: MiniHost) -> None:
    """What reaper ended, what was told to end, and what Spark's daemon killed is no crash; three that die of
    SIGSEGV after that are one, of these three."""
    daemon = host.daemon()
    pooled = daemon.open()
    with reaper.watch(host, counting(reaper), NOBODY_LISTENS) as watch:
        watch.until_event(event="sweep")
        leaks = daemon.leak(3)
        stubborn = daemon.open()
        stubborn.task("ignore-term then poll")
        stubborn.close()
        for leak in [*leaks, stubborn]:
            watch.until_event(event="action", pid=leak.pid)
        for worker in seen_workers(reaper, daemon, 4):
            worker.pinned.signal(signal.SIGTERM)
            assert worker.pinned.has_ended(5)
        for worker in seen_workers(reaper, daemon, 4):
            host.command(f"stop-worker {daemon.index} {worker.pid}")
            assert worker.pinned.has_ended(5)
        time.sleep(2.5)
        assert not [e for e in watch.events() if e["event"] in ("exit", "crash-loop")]
        assert not [e for e in watch.events() if e.get("role") == "daemon"]
        assert pooled.serves()
        for worker in seen_workers(reaper, daemon, 3):
            worker.pinned.signal(signal.SIGSEGV)
        loop = watch.until_event(event="crash-loop")
        assert loop["exits"]["by_signal"] == [
            {"signal": signal.SIGSEGV, "name": "SIGSEGV", "count": 3}]
        rc, _ = watch.stop()
        assert rc == 0


def test_ends_are_told_to_who_asks(reaper: Reaper, host: MiniHost) -> None:
    """Under -v every end that is not as it should be is told; a clean exit is not."""
    daemon = host.daemon()
    killed, well = daemon.open(), daemon.open()
    with reaper.watch(host, EVERY_SECOND, NOBODY_LISTENS, args=("-v", "--json", "watch")) as watch:
        watch.until_event(event="sweep")
        well.task("exit")
        assert well.pinned.has_ended(5)
        killed.pinned.signal(signal.SIGTERM)
        assert killed.pinned.has_ended(5)
        watch.until_event(event="exit", pid=killed.pid)
        assert watch.stop()[0] == 0
        events = watch.events()
    ends = [e for e in events if e["event"] == "exit"]
    assert [(e["pid"], e["signal"], e["counts"]) for e in ends] == [
        (killed.pid, signal.SIGTERM, False)]
