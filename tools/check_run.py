# SPDX-License-Identifier: Apache-2.0
"""A part of the check while it runs: its commands, what it tells, and what it adds to the sum.

Every command has a time limit and a log of its own below build/check/, and leaves no process behind.
"""

from __future__ import annotations

import os
import pathlib
import re
import select
import signal
import subprocess
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field

import check_figures

REPO = pathlib.Path(__file__).resolve().parents[1]
BUILD = REPO / "build"
LOGS = BUILD / "check"
TAG = "REAPER_CHECK_RUN"  # environment variable of all that a command starts
HEARTBEAT_S = 20
INTERRUPT_S = 60  # what a test run gets to end its processes after Ctrl-C
STRAGGLER_S = 10  # what a process that is just ending gets
TAIL_LINES = 40
TRACE_LINES, TRACE_WIDTH = 60, 2000  # of what failed, told once more at the end
ERRORS = r"\berror\b|No rule|^FAIL: |^ERROR: |\[FAIL\]"
NICE = 15  # of what computes: what waits for its processes goes first
ALL = re.compile("")  # lines
STOP = threading.Event()  # told to stop: nothing goes on


@dataclass
class Done:
    """A finished command."""

    rc: int
    out: str
    log: pathlib.Path
    timed_out: bool = False

    @property
    def ok(self) -> bool:
        return self.rc == 0 and not self.timed_out

    def why(self) -> str:
        if self.timed_out:
            return f"took too long (log: {self.log.relative_to(REPO)})"
        how = f"killed by signal {-self.rc}" if self.rc < 0 else f"exit status {self.rc}"
        return f"{how} (log: {self.log.relative_to(REPO)})"


@dataclass
class Tally:
    """The sum of all tests, and a line for each that did not pass."""

    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    traces: list[str] = field(default_factory=list)  # of what failed, told once more at the end
    figures: list[check_figures.Figure] = field(default_factory=list)
    built: dict[str, bool] = field(default_factory=dict)  # what is built already, and how it went
    lock: threading.Lock = field(default_factory=threading.Lock)


class Stopped(Exception):
    """Told to stop."""


class Part:
    """One part of the check while it runs."""

    def __init__(self, name: str, tally: Tally, limit_s: float, computes: bool) -> None:
        self.name = name
        self.tally = tally
        self.computes = computes
        self.began = time.monotonic()
        self.deadline = self.began + limit_s
        self.steps = 0
        self.failures = 0

    # -- telling

    def say(self, text: str) -> None:
        print(f"[{self.name} {time.monotonic() - self.began:4.0f} s] {text}", flush=True)

    def passed(self, what: str, count: int = 1) -> None:
        with self.tally.lock:
            self.tally.passed += count
        self.say(f"ok: {what}" if count == 1 else f"ok: {what}: {count} tests")

    def failed(self, what: str, why: str, trace: str = "") -> None:
        """A test that failed, and what it said of it."""
        self.failures += 1
        with self.tally.lock:
            self.tally.failed.append(f"{self.name}: {what}: {why}")
            if trace:
                last = [line[:TRACE_WIDTH] for line in trace.splitlines()[-TRACE_LINES:]]
                self.tally.traces.append("\n".join([f"{self.name}: {what}:", *last]))
        self.quote(trace)
        self.say(f"FAILED: {what}: {why}")

    def skipped(self, what: str, why: str) -> None:
        self.tally.skipped.append(f"{self.name}: {what}: {why}")
        self.say(f"skipped: {what}: {why}")

    def judge(self, what: str, done: Done) -> bool:
        """A command that is one test."""
        if done.ok:
            self.passed(what)
        else:
            self.failed(what, done.why(), self.tail(done))
        return done.ok

    def quote(self, text: str) -> None:
        """Somebody else's lines: several parts talk at once."""
        for line in text.splitlines():
            print(f"    {self.name}: {line}", flush=True)

    @staticmethod
    def tail(done: Done) -> str:
        """What went wrong, as far as the output shows it: its errors, and how it ended."""
        lines = done.out.splitlines()
        errors = [line for line in lines[:-TAIL_LINES] if re.search(ERRORS, line)]
        return "\n".join(errors[:TAIL_LINES // 2] + lines[-TAIL_LINES:])

    def count(self, figures: list[check_figures.Figure]) -> None:
        with self.tally.lock:
            self.tally.figures += figures

    # -- running

    def run(self, what: str, argv: list[str], *, env: dict[str, str] | None = None,
            cwd: pathlib.Path = REPO, show: re.Pattern[str] | None = None) -> Done:
        """Run a command in a process group of its own; its output goes to a log, and the lines
        that match `show` to the terminal too."""
        self.steps += 1
        slug = re.sub(r"[^a-z0-9]+", "-", what.lower()).strip("-")
        log = LOGS / f"{self.name}-{self.steps:02}-{slug}.log"
        tag = f"{uuid.uuid4()}"
        self.say(f"{what} ...")
        if self.computes:
            argv = ["nice", "-n", str(NICE), *argv]
        with subprocess.Popen(
            argv, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, start_new_session=True,
            env={**os.environ, "LC_ALL": "C.UTF-8", "PYTHONUNBUFFERED": "1",
                 "PYTHONDONTWRITEBYTECODE": "1", **(env or {}), TAG: tag},
        ) as process:
            try:
                if self.computes:
                    goes_last(process.pid)
                out, timed_out = self.follow(process, what, log, show)
            except BaseException:
                interrupt(process)
                end_stragglers(tag)
                raise
            rc = process.returncode
        for name in end_stragglers(tag):
            self.failed(what, f"left a process behind: {name}")
        self.count(check_figures.found_in(out))
        return Done(rc, out, log, timed_out)

    def follow(self, process: subprocess.Popen[bytes], what: str, log: pathlib.Path,
               show: re.Pattern[str] | None) -> tuple[str, bool]:
        """Copy the output until the command is over; ends it when its time is."""
        assert process.stdout is not None
        said = time.monotonic()
        out = bytearray()
        unseen = b""
        with open(log, "wb") as file:
            while True:
                now = time.monotonic()
                if STOP.is_set():
                    raise Stopped
                if now > self.deadline:
                    self.say(f"{what}: time is up, ending it")
                    interrupt(process)
                    return out.decode(errors="replace"), True
                if now - said > HEARTBEAT_S:
                    said = now
                    self.say(f"{what} ...")
                # Something that was left behind may hold the pipe open: the command's end counts.
                over = process.poll() is not None
                if not select.select([process.stdout], [], [], 0 if over else 0.5)[0]:
                    if over:
                        break
                    continue
                data = os.read(process.stdout.fileno(), 65536)
                if not data:
                    if over:
                        break
                    time.sleep(0.1)
                    continue
                file.write(data)
                out += data
                *lines, unseen = (unseen + data).split(b"\n")
                for line in (line.decode(errors="replace") for line in lines):
                    if show and show.search(line):
                        self.quote(line)
                        said = now
        return out.decode(errors="replace"), False


def goes_last(session: int) -> None:
    """Where the kernel shares processors among sessions, nice(1) counts only within one (sched(7))."""
    try:
        pathlib.Path("/proc", str(session), "autogroup").write_text(str(NICE))
    except OSError:
        pass  # it does not, or the command is over: nice(1) is all there is


def interrupt(process: subprocess.Popen[bytes]) -> None:
    """Ctrl-C for the group of a command that we started; SIGKILL when that does not help."""
    for number, patience in ((signal.SIGINT, INTERRUPT_S), (signal.SIGKILL, INTERRUPT_S)):
        if process.poll() is not None:
            return
        os.killpg(process.pid, number)
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            continue


def tagged(tag: str) -> Iterator[tuple[int, str]]:
    """Every living process whose environment carries the tag: (pid, what it is)."""
    wanted = f"{TAG}={tag}".encode()
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            environ = pathlib.Path("/proc", name, "environ").read_bytes()
            argv = pathlib.Path("/proc", name, "cmdline").read_bytes()
        except OSError:
            continue
        if wanted in environ.split(b"\0"):
            yield int(name), argv.replace(b"\0", b" ").decode(errors="replace")[:100]


def end_stragglers(tag: str) -> list[str]:
    """What a command left running, after it had time to end; it is ended here, by pidfd."""
    deadline = time.monotonic() + STRAGGLER_S
    while list(tagged(tag)) and time.monotonic() < deadline:
        time.sleep(0.2)
    left = []
    for pid, argv in tagged(tag):
        try:
            pidfd = os.pidfd_open(pid)
        except OSError:
            continue
        if pid in dict(tagged(tag)):
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
            left.append(f"{pid} {argv}")
        os.close(pidfd)
    return left
