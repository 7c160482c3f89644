# SPDX-License-Identifier: Apache-2.0
"""What the program keeps of its powers, seen from outside."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from harness import binary
from harness.binary import Reaper, Result
from harness.folders import public_folder
from harness.minihost import MiniHost, StartHost, Worker
from harness.privilege import PRIVATE_UID, STRANGER_UID, needs_root, needs_strace

# What could signal or start anybody, whatever decides; the one call that may is made by syscall(2).
FORBIDDEN = {"kill", "killpg", "tgkill", "tkill", "raise", "sigqueue", "pthread_kill", "system",
             "popen", "posix_spawn", "posix_spawnp", "fork", "vfork", "execl", "execle", "execlp",
             "execv", "execve", "execvp", "execvpe", "execveat", "fexecve", "ptrace",
             "process_vm_readv", "process_vm_writev", "dlopen"}
SIGNALS = "kill,tkill,tgkill,rt_sigqueueinfo,rt_tgsigqueueinfo,pidfd_send_signal"


def test_what_it_imports() -> None:
    """No function that signals or starts a process is linked in."""
    done = subprocess.run(["nm", "-D", "--undefined-only", binary.binary_path()], check=True,
                          capture_output=True, text=True)
    names = {line.split()[-1].split("@")[0] for line in done.stdout.splitlines() if line.strip()}
    assert "openat" in names or "__openat_2" in names, "the control: nm lists what is imported"
    if "ASAN_OPTIONS" not in os.environ:
        assert not names & FORBIDDEN


def status_of(pid: int) -> dict[str, str]:
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}


DAC_READ_SEARCH, KILL, SYS_PTRACE, SYS_NICE = 2, 5, 19, 23
NOBODYS_GROUP = STRANGER_UID
# Where it begins: fewer descriptors than it may have, a core file, a group that is not root's.
BEGIN = ("prlimit", "--nofile=64:4096", "--core=1000000:1000000")


def bits(mask: str) -> set[int]:
    return {bit for bit in range(64) if int(mask, 16) >> bit & 1}


@dataclass(frozen=True)
class Kept:
    why: str
    command: str
    uid: int
    capabilities: set[int]


KEPT = [
    Kept("root, to signal", "watch", 0, {DAC_READ_SEARCH, KILL, SYS_PTRACE, SYS_NICE}),
    Kept("root, dry", "-n watch", 0, {DAC_READ_SEARCH, SYS_PTRACE}),
    Kept("a user's own trees", "watch", PRIVATE_UID, set()),
    Kept("a user's, dry", "-n watch", PRIVATE_UID, set()),
]


@needs_root
@pytest.mark.parametrize("row", KEPT, ids=lambda row: row.why)
def test_what_a_watch_keeps(reaper: Reaper, user_reaper: Reaper, start_host: StartHost,
                            row: Kept) -> None:
    """Exactly these capabilities, the filter, no new privileges, its limits, no dump of it."""
    which = user_reaper if row.uid else reaper
    host = start_host(**({"uid": row.uid} if row.uid else {}))
    group = () if row.uid else ("setpriv", f"--regid={NOBODYS_GROUP}", "--clear-groups")
    with which.watch(host, prefix=(*BEGIN, *group), args=tuple(row.command.split())) as watch:
        watch.until_notified("READY=1")
        pid = watch.process.pid
        found = status_of(pid)
        mine = bits(status_of(os.getpid())["CapPrm"])
        assert mine - {DAC_READ_SEARCH, KILL, SYS_PTRACE, SYS_NICE}, "the control: some to drop"
        for name in ("CapPrm", "CapEff"):
            assert bits(found[name]) == row.capabilities & mine, (name, found[name])
        for name in ("CapInh", "CapAmb", *([] if row.uid else ["CapBnd"])):
            assert bits(found[name]) == set(), (name, found[name])
        assert found["NoNewPrivs"] == "1" and found["Seccomp"] == "2", found
        limits = pathlib.Path(f"/proc/{pid}/limits").read_text()
        assert re.search(r"^Max core file size +0 +0 ", limits, re.M), limits
        assert re.search(r"^Max open files +4096 +4096 ", limits, re.M), limits
        # Whose they are otherwise: its user's and its group's.
        of = os.stat(f"/proc/{pid}/environ")
        assert (of.st_uid, of.st_gid) == (0, 0), "it can be dumped by who started it"


@needs_root
def test_who_may_look_into_it(user_reaper: Reaper, user_host: MiniHost) -> None:
    """Not even another program of its user."""
    as_user = ("setpriv", f"--reuid={PRIVATE_UID}", f"--regid={PRIVATE_UID}", "--clear-groups")

    def can_see(pid: int) -> bool:
        return subprocess.run([*as_user, "cat", f"/proc/{pid}/environ"], check=False,
                              capture_output=True).returncode == 0

    with user_reaper.watch(user_host) as watch:
        watch.until_notified("READY=1")
        assert can_see(user_host.pid), "the control: one that is like any other"
        assert not can_see(watch.process.pid)


# A unit gives four capabilities and refuses the call that drops others.
REFUSED = ("strace", "-D", "-qq", "-o", "/dev/null", "-e", "trace=capset", "-e",
           "inject=capset:error=EPERM")


def given(*capabilities: str) -> tuple[str, ...]:
    """A prefix: a root that has no more than these, as CapabilityBoundingSet= makes one."""
    return ("setpriv", "--bounding-set=-all," + ",".join(f"+{name}" for name in capabilities))


@needs_root
@needs_strace
def test_where_no_capability_can_be_dropped(reaper: Reaper, host: MiniHost) -> None:
    """It works where it has none too many; with more than it keeps it does nothing at all."""
    leak, = host.daemon().leak()
    reaper.wait_due(leak)
    refused = reaper.run("sweep", host=host, prefix=REFUSED).expect(3)
    assert "CapabilityBoundingSet=" in refused.err, refused
    all_four = given("kill", "sys_ptrace", "dac_read_search", "sys_nice")
    assert reaper.run("-n", "sweep", host=host, prefix=(*all_four, *REFUSED)).rc == 3
    to_look = given("sys_ptrace", "dac_read_search")
    dry = reaper.run("--json", "-n", "sweep", host=host, prefix=(*to_look, *REFUSED)).expect(1)
    assert dry.verdict(leak) == ("reap", "peer-closed")
    assert leak.is_alive()
    assert reaper.sweep(host, prefix=(*all_four, *REFUSED)).expect(0).acted_on == {leak.pid}


def calls_of(log: pathlib.Path) -> list[tuple[str, str]]:
    """Name and the rest of each call in a log of `strace -f`."""
    found = (re.match(r"(?:\d+ +)?(\w+)(\(.*)", line) for line in log.read_text().splitlines())
    return [(match[1], match[2]) for match in found if match]


STARTS = {"clone", "clone3", "fork", "vfork"}
REACHES = {"kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "ptrace", "setns",
           "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease",
           "pidfd_getfd", "kcmp", "bpf", "perf_event_open", "open_by_handle_at", "execveat"}


INTENT = re.compile(r'\{\\"(?:(?!\\n).)*?\\"record\\": ?\\"intent\\"(?:(?!\\n).)*?\\"pid\\": ?(\d+)')


def assert_intents_come_first(calls: list[tuple[str, str]], audit_log: pathlib.Path) -> None:
    """Each signal goes to somebody whose intent was written to the audit log before, in a write that an
    fdatasync of the same descriptor followed before the signal."""
    whose: dict[str, str] = {}  # by the number of a pidfd, as it was opened last
    log, written, kept = "", set[str](), set[str]()
    for name, rest in calls:
        result = rest.rpartition(" = ")[2].split("<")[0]
        fd = re.match(r"\((\d*)", rest)[1]
        if name == "openat" and f'"{audit_log}"' in rest:
            log = result
        elif name == "pidfd_open":
            whose[result] = fd
        elif name in ("write", "writev") and fd == log:
            written |= set(INTENT.findall(rest))
        elif name == "fdatasync" and fd == log and result == "0":
            kept |= written
        elif name == "pidfd_send_signal":
            assert whose[fd] in kept, f"{name}{rest}: written {written}, on the disk {kept}"
    assert kept, "the control: there was an intent"


@needs_strace
def test_what_a_sweep_calls(reaper: Reaper, host: MiniHost) -> None:
    """Every call of it: two signals by one call, no program, nothing written but its own files."""
    daemon = host.daemon()
    stubborn, leak = daemon.open(), daemon.leak()[0]
    stubborn.task("ignore-term then poll")
    stubborn.close()
    reaper.wait_due(stubborn, leak)
    log = reaper.home / "calls"
    result = reaper.sweep(host, prefix=("strace", "-f", "-qq", "-s", "65536", "-o", str(log)))
    assert result.expect(0).acted_on == {stubborn.pid, leak.pid}
    calls = calls_of(log)
    assert_intents_come_first(calls, reaper.audit_log)
    names = [name for name, _ in calls]
    assert "openat" in names and names.count("execve") == 1 and names[0] == "execve"
    assert not REACHES & set(names)
    sent = sorted(re.sub(r"^\(\d+(<.*>)?, ", "", rest) for name, rest in calls
                  if name == "pidfd_send_signal")
    assert [re.sub(r" += 0$", "", rest) for rest in sent] == [
        "SIGKILL, NULL, 0)", "SIGTERM, NULL, 0)"]
    for name, rest in calls:
        assert name not in STARTS or "CLONE_THREAD" in rest, (name, rest)
        if name in ("open", "openat", "openat2", "creat") and re.search(
                r"O_(WRONLY|RDWR|CREAT|TRUNC|APPEND)", rest):
            assert f'"{reaper.home}/' in rest or '"lock"' in rest, (name, rest)
        if name == "setpriority":
            assert f"(PRIO_PROCESS, {stubborn.pid}, " in rest, rest


@dataclass(frozen=True)
class Run:
    result: Result
    tried: list[str]  # every call that could have signalled somebody, with what the kernel said


@contextmanager
def broken(name: str) -> Iterator[pathlib.Path]:
    """Where every user may run it: a reaper of tests/torture."""
    built = binary.binary_path().parent / "tests/torture" / name
    if not built.exists():
        pytest.fail(f"{built} is not built: make tests/torture/{name}")
    folder = public_folder(name)
    shutil.copy2(built, folder / "reaper")
    yield folder / "reaper"
    shutil.rmtree(folder)


@pytest.fixture
def always() -> Iterator[pathlib.Path]:
    """A reaper in which decide() says of everybody that he is due."""
    with broken("always_reap") as program:
        yield program


@pytest.fixture
def never_dry() -> Iterator[pathlib.Path]:
    """A reaper that knows of -n as long as it takes to install the filter."""
    with broken("never_dry") as program:
        yield program


def signals(reaper: Reaper, program: pathlib.Path, host: MiniHost, *args: str) -> Run:
    log = reaper.home / "signals"
    reaper.binary = program
    limit = ("timeout", "--preserve-status", "8") if "watch" in args else ()
    result = reaper.run(*args, host=host, prefix=(
        *limit, "strace", "-f", "-qq", "-o", str(log), "-e", f"trace={SIGNALS}"))
    return Run(result, [line for line in log.read_text().splitlines() if re.match(r"\d+ +\w+\(", line)])


@needs_strace
@pytest.mark.parametrize("command", ["audit", "--dry-run", "-n sweep", "-n watch"])
def test_dry_whoever_decides(reaper: Reaper, always: pathlib.Path, host: MiniHost,
                             command: str) -> None:
    """Everybody is due, and nobody gets a signal: not one call is even tried."""
    workers = [host.daemon().open() for _ in range(3)]
    time.sleep(1)
    assert signals(reaper, always, host, *command.split()).tried == []
    assert all(worker.serves() for worker in workers)


@needs_strace
def test_the_control(reaper: Reaper, always: pathlib.Path, host: MiniHost) -> None:
    """The same reaper ends everybody when it is not dry."""
    workers: list[Worker] = [host.daemon().open() for _ in range(2)]
    time.sleep(1)
    sent = signals(reaper, always, host, "sweep").tried
    assert len(sent) >= len(workers)
    for line in sent:
        assert re.search(r"pidfd_send_signal\(\d+, SIG(TERM|KILL), NULL, 0\) += 0", line), line
    assert all(worker.pinned.has_ended(5) for worker in workers)


def leaks_of(host: MiniHost) -> tuple[Worker, Worker]:
    """One that gets SIGTERM, and one that gets SIGKILL at once."""
    daemon = host.daemon()
    leak, stubborn = daemon.leak()[0], daemon.open()
    stubborn.task("ignore-term then poll")
    stubborn.close()
    return leak, stubborn


@needs_strace
@pytest.mark.parametrize("command", ["--json -n sweep", "-n watch"])
def test_dry_whoever_forgets_it(reaper: Reaper, never_dry: pathlib.Path, host: MiniHost,
                                command: str) -> None:
    """It plans, writes its intents and tries both signals: the kernel refuses each, nobody gets one, and
    the leaks are reported as left. Without -n the same program ends them."""
    leaks = leaks_of(host)
    reaper.wait_due(*leaks)
    run = signals(reaper, never_dry, host, *command.split())
    told = re.findall(r"pidfd_send_signal\(\d+, SIG(TERM|KILL), NULL, 0\) += -1 EPERM ", "\n".join(run.tried))
    assert len(told) == len(run.tried) and set(told) == {"TERM", "KILL"}, run.tried
    assert not any(leak.pinned.has_ended(0.5) for leak in leaks)
    records = [r for r in reaper.audit_records() if r["record"] == "outcome"]
    assert {r["pid"] for r in records} == {leak.pid for leak in leaks}
    assert {(r["outcome"], re.sub(r"\d+", "N", r["why"])) for r in records} == {
        ("refused", "the kernel refused signal N: Operation not permitted")}, records
    run.result.expect(1 if "sweep" in command else 0)
    reaper.sweep(host).expect(0)
    assert all(leak.pinned.has_ended(1) for leak in leaks)
