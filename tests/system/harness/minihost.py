# SPDX-License-Identifier: Apache-2.0
"""A MiniHost JVM with its daemons and workers, from start to guaranteed end."""

from __future__ import annotations

import json
import os
import pathlib
import select
import subprocess
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from harness import procs

ANSWER_S = 30
PATH = "/usr/bin:/bin"  # where `python3` is found: never a version manager's shim
JAVA = ["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx128m"]
TAG = "REAPER_TEST_RUN"


class HostError(Exception):
    """The mini host refused a command, or did not answer."""


@dataclass(eq=False)
class Daemon:
    """A Python daemon of the host."""

    host: MiniHost
    index: int
    pid: int
    start: int
    port: int
    pinned: procs.Pinned

    def open(self) -> Worker:
        """Connect: a new worker, idle in its first read."""
        return self.host.open(self)

    def leak(self, count: int = 1) -> list[Worker]:
        """Workers that stay in poll(-1) after the host hung up: the leak that reaper is for."""
        leaked = [self.open() for _ in range(count)]
        for worker in leaked:
            worker.task("poll")
            worker.close()
        return leaked


@dataclass(eq=False)
class Worker:
    """A worker of one daemon, and the connection that feeds it."""

    host: MiniHost
    daemon: Daemon
    index: int
    pid: int
    start: int
    lport: int
    pinned: procs.Pinned
    helpers: list[procs.Pinned] = field(default_factory=list)

    @property
    def identity(self) -> str:
        """As marker records write it."""
        return f"{self.pid}:{self.start}"

    def task(self, steps: str) -> dict[str, Any]:
        """Run the steps; back when the worker is in the wait that they end in."""
        reply = self.host.command(f"task {self.index} {steps}")["reply"]
        self.helpers += [self.host.pin(pid) for pid in reply["helpers"]]
        if "error" in reply:
            raise HostError(f"task {steps!r}: {reply['error']}")
        wait = reply["wait"]
        if wait == "exit":
            procs.until("the worker's exit", lambda: self.pinned.has_ended(1))
        else:
            procs.until(f"wait in {wait}", lambda: procs.is_waiting(self.pid, wait))
        return reply

    def read(self, size: int) -> None:
        self.host.command(f"read {self.index} {size}")

    def write(self, size: int) -> None:
        self.host.command(f"write {self.index} {size}")

    def fill(self) -> None:
        """Write until the connection takes no more: the worker's window is closed."""
        self.host.command(f"fill {self.index}")

    def close(self) -> None:
        self.host.command(f"close {self.index}")

    def half_close(self) -> None:
        self.host.command(f"half-close {self.index}")

    def is_alive(self) -> bool:
        return not self.pinned.has_ended()

    def serves(self) -> bool:
        """Whether the worker still does what the host asks: one more small task."""
        reply = self.host.command(f"task {self.index} echo 3")["reply"]
        self.read(3)
        return reply["pid"] == self.pid


class MiniHost:
    """`java MiniHost.java`, in a session of its own, tagged so that nothing of it gets lost.

    Where `hosts` holds its class too, that is started: a second of compiling less each time.
    """

    def __init__(
        self,
        hosts: pathlib.Path,
        workdir: pathlib.Path,
        *,
        marker_log: pathlib.Path | None = None,
        uid: int | None = None,
        prefix: list[str] | None = None,
        jars: pathlib.Path | None = None,
    ) -> None:
        self.tag = f"{TAG}={uuid.uuid4()}"
        self.daemons: list[Daemon] = []
        self.workers: list[Worker] = []
        self.pins: list[procs.Pinned] = []
        self.workdir = workdir
        self.buffer = b""
        self.stderr = open(workdir / f"minihost-{uuid.uuid4().hex[:8]}.stderr", "w+b")
        compiled = (hosts / "MiniHost.class").exists()
        path = os.pathsep.join(map(str, [hosts, *([jars / "*"] if jars else [])]))
        program = ["-cp", path, "MiniHost"] if compiled else [str(hosts / "MiniHost.java")]
        argv = (prefix or []) + JAVA + program
        if marker_log is not None:
            argv += ["--marker-log", str(marker_log)]
        key, value = self.tag.split("=")
        who: dict[str, Any] = {} if uid is None else dict(user=uid, group=uid, extra_groups=[])
        self.process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.stderr,
            cwd=workdir,
            env={"PATH": PATH, "PYTHONPATH": str(hosts), "PYTHONDONTWRITEBYTECODE": "1",
                 "LC_ALL": "C.UTF-8", key: value},
            start_new_session=True,
            **who,
        )
        self.pid = self.process.pid
        self.pinned = self.pin(self.pid)
        self.greeted = False

    @property
    def start(self) -> int:
        return self.pinned.start

    # -- talking to it

    def pin(self, pid: int) -> procs.Pinned:
        pinned = procs.Pinned(pid)
        self.pins.append(pinned)
        return pinned

    def complaint(self, what: str) -> HostError:
        self.stderr.flush()
        self.stderr.seek(0)
        return HostError(f"{what}\n{self.stderr.read().decode(errors='replace')}")

    def answer(self) -> dict[str, Any]:
        """The next line of JSON from the host."""
        assert self.process.stdout is not None
        fd = self.process.stdout.fileno()
        deadline = time.monotonic() + ANSWER_S
        while b"\n" not in self.buffer:
            if not select.select([fd], [], [], max(0, deadline - time.monotonic()))[0]:
                raise self.complaint(f"no answer in {ANSWER_S} s")
            data = os.read(fd, 65536)
            if not data:
                raise self.complaint("the host has ended")
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\n", 1)
        answer = json.loads(line)
        if not answer["ok"]:
            raise self.complaint(answer["error"])
        return answer

    def command(self, line: str) -> dict[str, Any]:
        if not self.greeted:
            assert self.answer()["pid"] == self.pid, "a prefix must become the JVM"
            self.greeted = True
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        return self.answer()

    def daemon(self, module: str = "pyspark.daemon", where: str = "tcp") -> Daemon:
        """Start a daemon; `where` is tcp, tcp6, or the path of a unix socket."""
        found = self.command(f"daemon {module} {where}")
        daemon = Daemon(
            host=self, index=found["daemon"], pid=found["pid"], start=found["start"],
            port=found["port"], pinned=self.pin(found["pid"]),
        )
        self.daemons.append(daemon)
        return daemon

    def open(self, daemon: Daemon) -> Worker:
        # The kernel forgets when a thread last ran that it moves to another CPU as it falls asleep;
        # reaper then has to watch it first. A worker is born where its daemon may run.
        cpus = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(daemon.pid, {cpus[len(self.workers) % len(cpus)]})
        found = self.command(f"open {daemon.index}")
        worker = Worker(
            host=self, daemon=daemon, index=found["worker"], pid=found["pid"],
            start=found["start"], lport=found["lport"], pinned=self.pin(found["pid"]),
        )
        self.workers.append(worker)
        procs.until("a new worker's first read", lambda: procs.is_waiting(worker.pid, "pool"))
        return worker

    def marker(self, record: str) -> None:
        self.command(f"marker {record}")

    def jar(self, command: str) -> None:
        """Tell of itself by reaper-markers.jar; the host needs `jars` for it."""
        self.command(f"jar {command}")

    # -- ending it

    def kill(self) -> None:
        """End the JVM alone; it stays a zombie, as under a parent that does not look."""
        self.pinned.kill()

    def wait(self) -> int:
        """See the JVM off, zombie and all."""
        return self.process.wait(10)

    def family(self) -> list[procs.Stat]:
        """Everything that came from this host and still lives."""
        living = {pin.pid for pin in self.pins if procs.is_there(pin.pid, pin.start)}
        # Until it is waited for, nobody else can have its pid, nor lead a session of that number.
        mine = {self.process.pid} if self.process.returncode is None else set()
        return procs.family(living | mine, mine, self.tag.encode())

    def finish(self) -> None:
        """Kill the whole tree by pidfd; AssertionError if anything of it survives."""
        left = procs.end_family(self.family)
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except BrokenPipeError:
                    pass
        self.process.wait(10)
        for pin in self.pins:
            pin.close()
        self.stderr.close()
        assert not left, f"left behind by the mini host: {left}"


StartHost = Callable[..., MiniHost]


class OldWorkers:
    """A JVM with pooled workers that have not moved a byte since they were born."""

    def __init__(self, host: MiniHost, count: int = 3) -> None:
        self.host = host
        self.daemon = host.daemon("pyjava.daemon")  # its class leaves pool_timeout to the log
        self.workers = [self.daemon.open() for _ in range(count)]
        self.born = time.monotonic()

    def age_s(self) -> float:
        return time.monotonic() - self.born
