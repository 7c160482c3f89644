# SPDX-License-Identifier: Apache-2.0
"""Processes as the tests see them: by (pid, start ticks), read from /proc, ended by pidfd only."""

import os
import re
import select
import signal
import time
from typing import Dict, Iterable, List, NamedTuple, Optional, Set

TOKEN = "REAPER_SPARK_TEST"  # environment variable that marks every process of one driver
PF_EXITING = 0x4  # linux/sched.h
RUN = f"{os.getpid()}-{time.time_ns():x}"  # what its values begin with in this run of the tests


class Proc(NamedTuple):
    """One process; two of them are the same only if both numbers are."""

    pid: int
    start: int


class Stat(NamedTuple):
    proc: Proc
    comm: str
    state: str
    ppid: int
    pgrp: int
    threads: int
    flags: int

    @property
    def gone(self) -> bool:
        """Nothing is left but a zombie: one whose other threads live has not ended yet."""
        return self.state in "ZX" and self.threads <= 1

    @property
    def exiting(self) -> bool:
        """Its memory may be on its way out, whatever its state is."""
        return bool(self.flags & PF_EXITING)


def read_stat(pid: int) -> Optional[Stat]:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            raw = file.read()
    except OSError:
        return None
    head, _, tail = raw.rpartition(b")")
    rest = tail.split()
    comm = head.partition(b"(")[2].decode("utf-8", "replace")
    return Stat(Proc(pid, int(rest[19])), comm, rest[0].decode(), int(rest[1]), int(rest[2]),
                int(rest[17]), int(rest[6]))


def all_stats() -> Dict[int, Stat]:
    pids = (int(name) for name in os.listdir("/proc") if name.isdigit())
    return {stat.proc.pid: stat for stat in map(read_stat, pids) if stat}


def alive(proc: Proc) -> bool:
    """There, and more than a zombie."""
    stat = read_stat(proc.pid)
    return stat is not None and stat.proc == proc and not stat.gone


def whole(proc: Proc) -> bool:
    """There, and not even on its way out."""
    stat = read_stat(proc.pid)
    return stat is not None and stat.proc == proc and not stat.exiting


def environment(pid: int) -> Set[bytes]:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return set(file.read().split(b"\0"))
    except OSError:
        return set()


def of_token(value: str) -> Set[Proc]:
    """Every living process that inherited the token, whoever its parent is by now."""
    want = f"{TOKEN}={value}".encode()
    found = set()
    for pid, stat in all_stats().items():
        if not stat.gone and want in environment(pid):
            found.add(stat.proc)
    return found


def of_run() -> Set[Proc]:
    """Every living process of any driver that this run of the tests started."""
    begin = f"{TOKEN}={RUN}-".encode()
    return {stat.proc for pid, stat in all_stats().items() if not stat.gone
            and any(entry.startswith(begin) for entry in environment(pid))}


def descendants(root: int) -> Set[Proc]:
    """Living descendants of `root`, itself included."""
    stats = all_stats()
    family = {root}
    grown = True
    while grown:
        more = {pid for pid, stat in stats.items() if stat.ppid in family} - family
        family |= more
        grown = bool(more)
    return {stats[pid].proc for pid in family if pid in stats and not stats[pid].gone}


def children(pid: int) -> Set[Proc]:
    return {stat.proc for stat in all_stats().values()
            if stat.ppid == pid and not stat.gone}


def send(proc: Proc, signo: int) -> bool:
    """Signal exactly this process; False when it is gone."""
    try:
        pin = os.pidfd_open(proc.pid)
    except ProcessLookupError:
        return False
    try:
        stat = read_stat(proc.pid)
        if stat is None or stat.proc != proc:
            return False
        signal.pidfd_send_signal(pin, signo)
        return True
    except ProcessLookupError:
        return False
    finally:
        os.close(pin)


def wait_gone(procs: Iterable[Proc], seconds: float) -> Set[Proc]:
    """Those that are still alive when the time is up."""
    end = time.monotonic() + seconds
    left = {proc for proc in procs if alive(proc)}
    while left and time.monotonic() < end:
        time.sleep(0.02)
        left = {proc for proc in left if alive(proc)}
    return left


def end_and_wait(proc: Proc, seconds: float = 10.0) -> None:
    """SIGKILL, then wait until the kernel says that it has exited."""
    try:
        pin = os.pidfd_open(proc.pid)
    except ProcessLookupError:
        return
    try:
        stat = read_stat(proc.pid)
        if stat is None or stat.proc != proc:
            return
        signal.pidfd_send_signal(pin, signal.SIGKILL)
        ready, _, _ = select.select([pin], [], [], seconds)
        assert ready, f"{proc} outlived SIGKILL by {seconds} s"
    except ProcessLookupError:
        return
    finally:
        os.close(pin)


def processor_s(pid: int) -> float:
    """What it and its children that have ended used of the processors; 0 when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            rest = file.read().rpartition(b")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, rest[11:15])) / os.sysconf("SC_CLK_TCK")


def inner_pid(pid: int) -> Optional[int]:
    """The pid that this process has in its own pid namespace."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("NSpid:"):
                    return int(line.split()[-1])
    except OSError:
        pass
    return None


def syscall(pid: int) -> Optional[int]:
    """Number of the system call the main thread sits in; None while it runs or when unreadable."""
    try:
        with open(f"/proc/{pid}/syscall", encoding="ascii") as file:
            word = file.read().split()[0]
    except (OSError, IndexError):
        return None
    return int(word) if re.fullmatch(r"\d+", word) else None


def whereabouts(pid: int) -> str:
    """What a process that hangs is doing: for the message of a test."""
    told = []
    for name in ("comm", "wchan", "syscall", "stack", "schedstat"):
        try:
            with open(f"/proc/{pid}/{name}", encoding="utf-8", errors="replace") as file:
                told.append(f"{name}: {file.read().strip()}")
        except OSError as error:
            told.append(f"{name}: {error.strerror}")
    try:
        for fd in os.listdir(f"/proc/{pid}/fd"):
            told.append(f"fd {fd}: {os.readlink(f'/proc/{pid}/fd/{fd}')}")
    except OSError:
        pass
    return "\n".join(told)


def socket_inodes(pid: int) -> Dict[int, int]:
    """Descriptor -> socket inode."""
    found = {}
    try:
        names = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return found
    for name in names:
        try:
            match = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(f"/proc/{pid}/fd/{name}"))
        except OSError:
            continue
        if match:
            found[int(name)] = int(match.group(1))
    return found


def tcp_rows(pid: int) -> List[List[str]]:
    """The fields of every TCP socket in the network namespace of the process."""
    rows = []
    for table in ("tcp", "tcp6"):
        with open(f"/proc/{pid}/net/{table}", encoding="ascii") as file:
            rows += [line.split() for line in list(file)[1:]]
    return rows


def tcp_state(pid: int, inode: int) -> Optional[str]:
    """The hexadecimal state of a TCP socket in its process's tables, None when it is in neither."""
    return next((row[3] for row in tcp_rows(pid) if int(row[9]) == inode), None)


def tcp_peer_inode(pid: int, inode: int) -> Optional[int]:
    """Inode of the other end of a loopback connection; None when one of the ends is not listed."""
    rows = tcp_rows(pid)
    own = next((row for row in rows if int(row[9]) == inode), None)
    if own is None:
        return None
    ports = [row.rpartition(":")[2] for row in own[1:3]]
    for row in rows:
        if [end.rpartition(":")[2] for end in (row[2], row[1])] == ports:
            return int(row[9])
    return None


def until(what, condition, seconds: float = 20.0, step: float = 0.05):
    """The first true value of `condition()`; fails with `what` when the time is up."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(step)


def boottime_ms() -> int:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000
