# SPDX-License-Identifier: Apache-2.0
"""A sweep whose system calls fail, or which is killed at one of them, over a host of three workers.

No signal arrives: strace(1) swallows pidfd_send_signal(2) and says that it was sent, so that one leak
serves all runs, and tells for whom the signal was meant.
"""

from __future__ import annotations

import json
import pathlib
import queue
import re
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

from harness.binary import Reaper, Result
from harness.minihost import MiniHost, Worker

ERRNOS = ("EIO", "EINTR", "ENOMEM", "EMFILE", "ENFILE", "ENOSPC", "EDQUOT", "EACCES", "EPERM", "ESRCH",
          "ENOENT", "EAGAIN", "EROFS")
AT_ONCE = 6  # runs; each of them mostly waits
HANG_S = 60
SETTINGS = {"policy.sample": "0s", "policy.term_grace": "0s", "policy.kill_grace": "0s"}
CALL = re.compile(r"^(\d+) +(\w+)\((.*?)(?:\)? += | *<unfinished)")
SIGNAL = re.compile(r"pidfd_send_signal\(\d+(?:<pid:(\d+)>)?, (SIG\w+), NULL, (\w+)\)")
LOST = ("-e", "inject=pidfd_send_signal:retval=0")
STRACE = ("strace", "-f", "--seccomp-bpf", "-qq", "--decode-fds=path,pidfd", "-e", "signal=none")
PATHS = ("openat", "newfstatat", "readlinkat", "readlink", "getxattr", "statx", "mkdirat", "rename",
         "access")
LIBRARY = re.compile(r"</?(?:usr/)?(?:lib|share)/|\"/(?:usr/)?lib|\"/usr/share/locale|ld\.so\.cache"
                     r"|locale\.alias")
# brk(2) tells no errno: the C library takes what it returns for an address. Of futex(2) it ends a program
# that gets an errno which the kernel never gives. A thread whose exit(2) is told to fail calls it for ever.
# Signals have a test of their own.
NOT_FAILING = ("brk", "exit", "exit_group", "futex", "pidfd_send_signal")
EXITS = {0, 1, 2, 3, 4}  # what reaper(8) documents


@dataclass
class Crowd:
    """One leak that is due, beside workers that must be left alone."""

    host: MiniHost
    leak: Worker
    kept: list[Worker]

    @classmethod
    def of(cls, host: MiniHost) -> Crowd:
        daemon = host.daemon()
        pooled, serving = daemon.open(), daemon.open()
        serving.task("sleep")
        leak, = daemon.leak()
        return cls(host, leak, [pooled, serving])


@dataclass
class Site:
    """One kind of call, told by its name and arguments, and its occurrences among calls of that name."""

    call: str
    args: str
    numbers: list[int] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.call}({self.args})"


@dataclass
class Run:
    """What one sweep did."""

    result: Result
    signals: list[tuple[int | None, str, str]]  # pid, name and flags of each
    trace: str
    intents: set[int]

    def __str__(self) -> str:
        return f"{self.result}\n--- signals {self.signals}, intents {self.intents}"

    def failed_at(self) -> tuple[str, str] | None:
        """Name and arguments of the first call that was made to fail."""
        return next((call for call in calls(self.trace, "(INJECTED)")
                     if call[0] != "pidfd_send_signal"), None)


def arguments(call: str, args: str) -> str:
    """Those that tell where in reaper a call is: descriptor, path or kind, but no address or number."""
    first, _, rest = args.partition(", ")
    if call in PATHS:
        path = re.match(r'"(?:[^"\\]|\\.)*"', args if args.startswith('"') else rest)
        first = f"{first} {path.group() if path else ''}"
    elif call in ("seccomp", "fcntl"):
        first = args
    elif call == "getrandom":
        first = ""
    if LIBRARY.search(first):
        return "LIBRARY"
    return re.sub(r"0x[0-9a-f]+|\b\d+\b|[0-9a-f]{16}", "N", first)


def calls(trace: str, also: str = "") -> Iterator[tuple[str, str]]:
    """Name and arguments of each call of the first thread whose line contains a text."""
    first = trace.split(maxsplit=1)[0] if trace else ""
    for line in trace.splitlines():
        found = CALL.match(line)
        if found and also in line and found[1] == first:
            yield found[2], arguments(found[2], found[3])


def sites(trace: str) -> list[Site]:
    """Every kind of call from the first one of main() on."""
    found: dict[tuple[str, str], Site] = {}
    counts: dict[str, int] = {}
    begun = False
    for call, args in calls(trace):
        counts[call] = counts.get(call, 0) + 1
        # the last thing that the loader does is to give back its cache
        begun = begun or call == "munmap"
        if begun and call not in NOT_FAILING:
            found.setdefault((call, args), Site(call, args)).numbers.append(counts[call])
    return list(found.values())


class Faulty:
    """Runs sweeps over one crowd, several at once, each with files of its own."""

    def __init__(self, binary: pathlib.Path, folder: pathlib.Path, crowd: Crowd) -> None:
        self.crowd = crowd
        self.homes: queue.SimpleQueue[Reaper] = queue.SimpleQueue()
        for number in range(AT_ONCE):
            home = folder / f"home-{number}"
            home.mkdir(mode=0o755)
            reaper = Reaper(binary, home)
            reaper.settings.update(SETTINGS)
            self.homes.put(reaper)

    @contextmanager
    def home(self) -> Iterator[Reaper]:
        """A reaper that nobody else uses, with no history and no audit log."""
        reaper = self.homes.get()
        try:
            for path in [*reaper.state_dir.iterdir(), *reaper.audit_log.parent.iterdir()]:
                path.unlink()
            yield reaper
        finally:
            self.homes.put(reaper)

    def sweep(self, reaper: Reaper, *strace: str, env: tuple[str, ...] = ()) -> Run:
        """One sweep under strace with these options."""
        log = reaper.home / "strace"
        argv = [*STRACE, *strace, *env, "-o", str(log),
                *reaper.argv(("--json", "sweep"), (self.crowd.host,), None)]
        result = reaper.run_argv(argv, timeout_s=HANG_S, check=False)
        trace = log.read_text(errors="replace")
        signals = [(int(pid) if pid else None, name, flags)
                   for pid, name, flags in SIGNAL.findall(trace)]
        return Run(result, signals, trace, intents(reaper.audit_log))

    def each(self, work: Callable[[Reaper, object], str | None],
             items: Iterable[object], at_once: int = AT_ONCE) -> tuple[int, list[str]]:
        """Do this with each item; how many there were, and what was wrong."""

        def one(item: object) -> str | None:
            with self.home() as reaper:
                try:
                    return work(reaper, item)
                except (AssertionError, subprocess.TimeoutExpired) as error:
                    return f"{item}: {error}"

        with ThreadPoolExecutor(at_once) as pool:
            told = list(pool.map(one, items))
        return len(told), [wrong for wrong in told if wrong]

    def judge(self, run: Run) -> None:
        """What holds of every sweep, whatever has failed in it."""
        assert run.result.rc in EXITS, f"not a documented exit status: {run}"
        for pid, name, flags in run.signals:
            assert pid == self.crowd.leak.pid, f"a signal to {pid}, which is no leak: {run}"
            assert name in ("SIGTERM", "SIGKILL") and flags == "0", run
            assert pid in run.intents, f"a signal without an intent in the audit log: {run}"
        assert run.result.rc != 0 or not run.signals, f"the leak is still there: {run}"


def intents(log: pathlib.Path) -> set[int]:
    """Whom the whole lines of an audit log say that somebody is about to end."""
    if not log.exists():
        return set()
    found = set()
    for line in log.read_text().splitlines(keepends=True):
        if line.endswith("\n"):
            record = json.loads(line)
            if record["record"] == "intent":
                found.add(record["pid"])
    return found


def wait_due(faulty: Faulty) -> None:
    """Until the leak is due."""
    with faulty.home() as reaper:
        reaper.wait_due(faulty.crowd.leak)


def seconds(began: float) -> str:
    return f"{time.monotonic() - began:.0f} s"
