# SPDX-License-Identifier: Apache-2.0
"""The system calls of a watch fail that a sweep without history, markers or helpers does not make: its loop,
what it reads anew, the files that it keeps up to date, and the service manager's socket."""

from __future__ import annotations

import pathlib
import shutil
import time

import pytest
from faulty import NOT_FAILING, SWEEP, Fault, Faulty, Key, Run, in_program
from harness.folders import public_folder
from harness.privilege import needs_strace
from others import BY_OTHERS
from statuses import judge_watch

pytestmark = needs_strace

KNOWN = 40  # calls of functions, at least, that are both in the program and made
# Sites that need not be hit, by a word of theirs.
SELDOM: dict[str, str] = {}
# What is reached by neither, and why.
AFTER_A_FAULT = "made only where another call has failed"
ELSEWHERE = {
    **{f"by {name}": "test_other_calls.py" for name in BY_OTHERS},
    "by output_style": "no terminal here",
    "by read_one": "by a thread of its own: test_memory.py",
    "by evidence_held_among": "no helper holds a task socket here",
    "by fds_socket_mount": "all descriptors may be read here",
    "by sockets_dump": "IPv6 is there",
    "fcntl by line_open": "no socket is given here",
    "by fs_is_mount": AFTER_A_FAULT,
    "openat by fs_open_here": AFTER_A_FAULT,
    "close by fs_open_here": AFTER_A_FAULT,
    "clock_nanosleep by clock_sleep_ms": AFTER_A_FAULT,
    "close by fs_open_dir": AFTER_A_FAULT,
    "by fs_undo_append": AFTER_A_FAULT,
    "unlink by fs_replace": AFTER_A_FAULT,
}
@pytest.fixture(scope="module")
def of_sweep(faulty_watch: Faulty, reaper_binary: pathlib.Path, shim: pathlib.Path) -> set[Key]:
    """The sites that test_calls.py has."""
    plain = public_folder("plain")
    try:
        sweep = Faulty(reaper_binary, plain, shim, faulty_watch.crowd, SWEEP)
        sweep.begin()
        return {site.key for site in sweep.look_for_sites()}
    finally:
        shutil.rmtree(plain)


def test_calls_that_fail(faulty_watch: Faulty, of_sweep: set[Key], capsys: pytest.CaptureFixture[str]) -> None:
    """As in a sweep; and from its first look on it ends for nothing but SIGTERM."""

    def judge(fault: Fault, run: Run) -> None:
        faulty_watch.judge(run)
        judge_watch(run, fault.errno)

    began = time.monotonic()
    done = faulty_watch.fail_each(lambda site: site.key not in of_sweep, judge)
    done.tell("system calls of a watch that fail", began, capsys, SELDOM)


def elsewhere(name: str) -> str | None:
    """Why neither comes by a call of a function."""
    return next((why for word, why in ELSEWHERE.items() if f" {name}".endswith(f" {word}")), None)


def test_what_is_never_failed(faulty_watch: Faulty, of_sweep: set[Key], reaper_binary: pathlib.Path,
                              capsys: pytest.CaptureFixture[str]) -> None:
    """Of all calls that the program has, those which neither a sweep nor a watch comes by are known."""
    made = {(call, caller) for call, _, caller in of_sweep | {site.key for site in faulty_watch.look_for_sites()}}
    program = in_program(reaper_binary)
    assert len(made & program) > KNOWN, "its code is not read"
    named = sorted(f"{call} by {caller}" for call, caller in program - made if call not in NOT_FAILING)
    with capsys.disabled():
        print("".join(f"\n  never reached: {name}: {elsewhere(name) or 'no reason'}" for name in named))
    assert all(map(elsewhere, named)), named
