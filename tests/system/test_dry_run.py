# SPDX-License-Identifier: Apache-2.0
"""A dry run, an audit, an explanation: no signal leaves them, and the kernel makes sure of it."""

from __future__ import annotations

import pathlib
import re
import time

import pytest

from harness.binary import DUE_S, Reaper
from harness.minihost import MiniHost, Worker
from harness.privilege import needs_strace

SIGNALS = "kill,tkill,tgkill,rt_sigqueueinfo,rt_tgsigqueueinfo,pidfd_send_signal"
FIRST = "seccomp,prctl,openat,openat2,pidfd_open,pidfd_send_signal"
FILTER = re.compile(r"(SECCOMP_SET_MODE_FILTER|PR_SET_SECCOMP, SECCOMP_MODE_FILTER), .*= 0$")
PROCESS = re.compile(r'"/proc/(\d+)["/]')
LOOKING = ["audit", "--dry-run", "-n sweep", "-n watch", "explain @", "-n retire @", "doctor",
           "check-config"]


@pytest.fixture(scope="module")
def leak(module_host: MiniHost) -> Worker:
    worker, = module_host.daemon().leak()
    time.sleep(DUE_S)
    return worker


@pytest.fixture
def another_leak(host: MiniHost) -> Worker:
    """One that a test may end."""
    worker, = host.daemon().leak()
    time.sleep(DUE_S)
    return worker


def traced(reaper: Reaper, leak: Worker, command: str, calls: str) -> list[str]:
    """The lines of strace for one run."""
    log = reaper.home / "strace"
    args = command.replace("@", str(leak.pid)).split()
    # watch does not end by itself
    limit = ("timeout", "--preserve-status", "8") if "watch" in args else ()
    reaper.run(*args, host=leak.host,
               prefix=(*limit, "strace", "-f", "-qq", "-o", str(log), "-e", f"trace={calls}"))
    return [line for line in log.read_text().splitlines() if re.match(r"\d+ +\w+\(", line)]


@needs_strace
@pytest.mark.parametrize("command", LOOKING)
def test_no_signal(reaper: Reaper, leak: Worker, command: str) -> None:
    """Not one call that could signal anybody."""
    assert traced(reaper, leak, command, SIGNALS) == []
    assert leak.is_alive()


@needs_strace
def test_a_sweep_signals_by_pidfd_only(reaper: Reaper, another_leak: Worker) -> None:
    """The control: a sweep makes one such call, by pidfd, SIGTERM, flags 0."""
    line, = traced(reaper, another_leak, "sweep", SIGNALS)
    assert re.search(r"pidfd_send_signal\(\d+.*, SIGTERM, NULL, 0\) += 0", line), line
    assert another_leak.pinned.has_ended(1)


@needs_strace
@pytest.mark.parametrize("command", ["audit", "-n sweep", "sweep"])
def test_filter_is_installed(reaper: Reaper, request: pytest.FixtureRequest, command: str) -> None:
    """The seccomp filter stands before the first look at another process, and before any signal."""
    leak = request.getfixturevalue("another_leak" if command == "sweep" else "leak")
    lines = traced(reaper, leak, command, FIRST)
    own = lines[0].split()[0]  # of the one thread that there is before the filter
    looks = [(at, found[1]) for at, line in enumerate(lines)
             if (found := PROCESS.search(line)) and found[1] != own]
    signals = [at for at, line in enumerate(lines) if "pidfd_send_signal(" in line]
    assert str(leak.pid) in [pid for _, pid in looks] and len(signals) == (command == "sweep")
    filters = [at for at, line in enumerate(lines) if FILTER.search(line)]
    assert filters and filters[0] < min([at for at, _ in looks] + signals), lines
    assert lines[filters[0]].split()[0] == own


@pytest.mark.parametrize("command", LOOKING)
def test_nothing_is_written(reaper: Reaper, leak: Worker, command: str) -> None:
    """No history, no lock, no audit log, no marker."""
    def files() -> set[pathlib.Path]:
        return {p for p in reaper.home.rglob("*") if p.name != "strace"}

    before = files()
    args = command.replace("@", str(leak.pid)).split()
    # In the foreground timeout(1) sends no SIGCONT after its SIGTERM: that takes away the SIGSTOP by
    # which LeakSanitizer attaches to the program at its exit, and it would wait for ever.
    limit = ("timeout", "--foreground", "--preserve-status", "8") if "watch" in args else ()
    assert reaper.run(*args, host=leak.host, prefix=limit).rc in (0, 1)
    assert files() == before
    assert leak.is_alive()


def test_dry_sweep_tells_the_plan(reaper: Reaper, leak: Worker) -> None:
    """What a sweep would do is said, marked as a dry run, with the status of a leak that stays."""
    result = reaper.run("--json", "-n", "sweep", host=leak.host).expect(1)
    assert result.doc["dry_run"] is True
    assert result.verdict(leak) == ("reap", "peer-closed")
    assert not result.doc.get("actions")
    text = reaper.run("-n", "sweep", host=leak.host).expect(1)
    assert str(leak.pid) in text.out
