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

import pytest

from harness import binary
from harness.binary import Reaper
from harness.folders import public_folder
from harness.minihost import MiniHost, StartHost, Worker
from harness.privilege import PRIVATE_UID, needs_root, needs_strace

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


@pytest.mark.parametrize("uid, may_keep", [
    pytest.param(0, {2, 5, 19, 23}, id="root: CAP_DAC_READ_SEARCH, KILL, SYS_PTRACE, SYS_NICE",
                 marks=needs_root),
    pytest.param(PRIVATE_UID, set(), id="a user: none", marks=needs_root)])
def test_what_a_watch_keeps(reaper: Reaper, user_reaper: Reaper, start_host: StartHost, uid: int,
                            may_keep: set[int]) -> None:
    """Capabilities, the filter, no new privileges, no core dump, no debugger of the same user."""
    which = reaper if uid == 0 else user_reaper
    host = start_host(**({"uid": uid} if uid else {}))
    with which.watch(host) as watch:
        watch.until_notified("READY=1")
        pid = watch.process.pid
        found = status_of(pid)
        kept = int(found["CapEff"], 16)
        assert {bit for bit in range(64) if kept >> bit & 1} <= may_keep, found["CapEff"]
        assert int(found["CapPrm"], 16) == kept and int(found["CapInh"], 16) == 0
        assert int(found["CapAmb"], 16) == 0
        assert found["NoNewPrivs"] == "1" and found["Seccomp"] == "2", found
        limits = pathlib.Path(f"/proc/{pid}/limits").read_text()
        assert re.search(r"^Max core file size +0 +0 ", limits, re.M), limits
        assert os.stat(f"/proc/{pid}/environ").st_uid == 0, "it can be dumped by who started it"


@pytest.fixture
def always() -> Iterator[pathlib.Path]:
    """A reaper in which decide() says of everybody that he is due."""
    built = binary.binary_path().parent / "tests/torture/always_reap"
    if not built.exists():
        pytest.fail(f"{built} is not built: make tests/torture/always_reap")
    folder = public_folder("always")
    shutil.copy2(built, folder / "reaper")
    yield folder / "reaper"
    shutil.rmtree(folder)


def signals(reaper: Reaper, always: pathlib.Path, host: MiniHost, *args: str) -> list[str]:
    log = reaper.home / "signals"
    reaper.binary = always
    limit = ("timeout", "--preserve-status", "8") if "watch" in args else ()
    reaper.run(*args, host=host,
               prefix=(*limit, "strace", "-f", "-qq", "-o", str(log), "-e", f"trace={SIGNALS}"))
    return [line for line in log.read_text().splitlines() if re.match(r"\d+ +\w+\(", line)]


@needs_strace
@pytest.mark.parametrize("command", ["audit", "--dry-run", "-n sweep", "-n watch"])
def test_dry_whoever_decides(reaper: Reaper, always: pathlib.Path, host: MiniHost,
                             command: str) -> None:
    """Everybody is due, and nobody gets a signal: not one call is even tried."""
    workers = [host.daemon().open() for _ in range(3)]
    time.sleep(1)
    assert signals(reaper, always, host, *command.split()) == []
    assert all(worker.serves() for worker in workers)


@needs_strace
def test_the_control(reaper: Reaper, always: pathlib.Path, host: MiniHost) -> None:
    """The same reaper ends everybody when it is not dry."""
    workers: list[Worker] = [host.daemon().open() for _ in range(2)]
    time.sleep(1)
    assert len(signals(reaper, always, host, "sweep")) >= len(workers)
    assert all(worker.pinned.has_ended(5) for worker in workers)
