# SPDX-License-Identifier: Apache-2.0
"""Processes as /proc shows them, and ending them by pidfd: never by a bare pid, never by name."""

from __future__ import annotations

import os
import platform
import select
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")

POLL_S = 0.02
PF_FORKNOEXEC = 0x40
READ_FD = 3  # the worker reads its task socket through this descriptor
SIGNOFF_BYTES = 0x400  # what the last loop of a worker asks for

# x86-64 system calls that a worker may be in, by the name that its task gives to its wait.
WAITS = {
    "epoll": {232, 281},
    "flock": {73},
    "futex": {202},
    "pause": {34},
    "pipe": {0},
    "poll": {7, 271, 219},
    "pool": {0},
    "recv": {45},
    "select": {23, 270},
    "signoff": {45},
    "sleep": {35, 230},
    "waitpid": {61, 247},
    "write": {1},
}


@dataclass(frozen=True)
class Stat:
    """The fields of /proc/PID/stat that the tests use."""

    pid: int
    comm: bytes
    state: str
    ppid: int
    pgrp: int
    session: int
    flags: int
    start: int


def stat(pid: int) -> Stat | None:
    """Read /proc/PID/stat; None where there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
    except (FileNotFoundError, ProcessLookupError):
        return None
    head, tail = text[: text.rindex(b")")], text[text.rindex(b")") + 2 :]
    fields = tail.split()
    return Stat(
        pid=pid,
        comm=head[head.index(b"(") + 1 :],
        state=fields[0].decode(),
        ppid=int(fields[1]),
        pgrp=int(fields[2]),
        session=int(fields[3]),
        flags=int(fields[6]),
        start=int(fields[19]),
    )


def all_stats() -> Iterator[Stat]:
    for name in os.listdir("/proc"):
        if name.isdigit():
            found = stat(int(name))
            if found is not None:
                yield found


def is_there(pid: int, start: int) -> bool:
    """Whether that very process still runs: a zombie does not."""
    now = stat(pid)
    return now is not None and now.start == start and now.state not in "ZX"


def read_text(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return None


def syscall(pid: int) -> list[int] | None:
    """Number and arguments of the call that the main thread is in; None where it is in none."""
    words = (read_text(f"/proc/{pid}/syscall") or "").split()
    if len(words) < 7:
        return None
    return [int(word, 0) for word in words[:7]]


def wchan(pid: int) -> str:
    return (read_text(f"/proc/{pid}/wchan") or "").split(".")[0]


def status_field(pid: int, name: str) -> str | None:
    for line in (read_text(f"/proc/{pid}/status") or "").splitlines():
        if line.startswith(name + ":"):
            return line.split(":", 1)[1].strip()
    return None


def socket_fds(pid: int) -> dict[int, str]:
    """Descriptor -> `socket:[inode]` for every socket that the process holds."""
    found = {}
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            target = os.readlink(f"/proc/{pid}/fd/{name}")
        except FileNotFoundError:
            continue
        if target.startswith("socket:"):
            found[int(name)] = target
    return found


def until(what: str, probe: Callable[[], T], timeout_s: float = 10) -> T:
    """Call `probe` until it returns something true; AssertionError names what never came."""
    deadline = time.monotonic() + timeout_s
    while True:
        value = probe()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout_s} s: {what}")
        time.sleep(POLL_S)


def stolen_ms() -> int:
    """For how long all processors together were interrupted, or taken by others than this machine: the
    scheduler's clock stands still meanwhile, and what it dates looks younger."""
    with open("/proc/stat", encoding="ascii") as file:
        fields = file.readline().split()
    return sum(map(int, fields[6:9])) * 1000 // os.sysconf("SC_CLK_TCK")


STATES = {"cpu": "R", "dstate": "D"}  # of a worker in that wait; S in all others


def state_of(pid: int) -> str:
    """The state of a process that must be there."""
    now = stat(pid)
    if now is None:
        raise AssertionError(f"{pid} is gone")
    return now.state


def is_waiting(pid: int, wait: str) -> bool:
    """Whether the main thread has reached the wait that its task announced."""
    if state_of(pid) != STATES.get(wait, "S"):
        return False
    if wait in STATES:
        return True
    if platform.machine() != "x86_64" or not os.access(f"/proc/{pid}/syscall", os.R_OK):
        return bool(wchan(pid).strip("0"))
    call = syscall(pid)
    if call is None or call[0] not in WAITS[wait]:
        return False
    if wait == "pool":
        return call[1] == READ_FD
    return wait != "signoff" or call[3] == SIGNOFF_BYTES


class Pinned:
    """One process, held by a pidfd: what is signalled is what was pinned."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.fd = os.pidfd_open(pid)
        now = stat(pid)
        if now is None:
            os.close(self.fd)
            raise ProcessLookupError(pid)
        self.start = now.start

    def __repr__(self) -> str:
        return f"<pid {self.pid}>"

    def has_ended(self, timeout_s: float = 0) -> bool:
        poller = select.poll()
        poller.register(self.fd, select.POLLIN)
        return bool(poller.poll(timeout_s * 1000))

    def signal(self, number: int) -> None:
        try:
            signal.pidfd_send_signal(self.fd, number)
        except ProcessLookupError:
            pass

    def kill(self) -> None:
        """End it and see it gone."""
        self.signal(signal.SIGKILL)
        if not self.has_ended(10):
            raise AssertionError(f"{self} survives SIGKILL: {read_text(f'/proc/{self.pid}/stat')}")

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def carries_tag(pid: int, tag: bytes) -> bool:
    """Whether the environment that the process was exec'ed with holds `tag`."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return tag in file.read(1 << 16)
    except OSError:
        return False


def family(roots: set[int], sessions: set[int], tag: bytes) -> list[Stat]:
    """Every living process that is one of `roots`, descends from one, is of one of `sessions`,
    or carries `tag`."""
    everybody = {found.pid: found for found in all_stats()}
    chosen = {
        pid
        for pid, found in everybody.items()
        if pid in roots or found.session in sessions or carries_tag(pid, tag)
    }
    while True:
        more = {pid for pid, found in everybody.items() if found.ppid in chosen} - chosen
        if not more:
            break
        chosen |= more
    me = os.getpid()
    return [everybody[pid] for pid in chosen if pid != me and everybody[pid].state not in "ZX"]


def end_family(find: Callable[[], list[Stat]], timeout_s: float = 15) -> list[Stat]:
    """Kill by pidfd what `find` finds until it finds nothing; what is left when time is up."""
    deadline = time.monotonic() + timeout_s
    left = find()
    while left and time.monotonic() < deadline:
        for one in left:
            try:
                pinned = Pinned(one.pid)
            except (ProcessLookupError, OSError):
                continue
            if pinned.start == one.start:
                pinned.signal(signal.SIGKILL)
                pinned.has_ended(0.2)
            pinned.close()
        left = find()
    return left
