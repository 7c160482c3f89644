# SPDX-License-Identifier: Apache-2.0
"""Every system call of a sweep fails, with every errno, once or from then on.

Those of the thread that reads what can be kept from being read fail in test_memory.py.

REAPER_FAULTS    `all`: the first, the middle and the last call of each site, once and from then on
"""

from __future__ import annotations

import pathlib
import shutil
import time
from collections.abc import Iterator

import pytest
from failing import Failing
from faulty import ERRNOS, Crowd, Fault, Faulty, Run, Scene
from harness.binary import Reaper
from harness.folders import public_folder
from harness.markers import BOOT_ID
from harness.minihost import MiniHost
from harness.privilege import needs_strace
from statuses import judge_signals_of_sweep, judge_sweep

pytestmark = needs_strace

# Sites that need not be hit, by a word of theirs.
SELDOM: dict[str, str] = {}
NO_FILE = ("ENOENT", "EACCES", "EPERM")
MINUTE_MS = 60_000


def write_a_kill(reaper: Reaper) -> None:
    """A history that knows of one, a minute ago."""
    now_ms = int(time.clock_gettime(time.CLOCK_BOOTTIME) * 1000)
    path = reaper.state_dir / "history"
    path.write_text(f"reaper-history/1 boot={BOOT_ID}\nkill {now_ms - MINUTE_MS}\n")
    path.chmod(0o640)


LIMITED = Scene("limited", settings={"policy.max_kills_per_hour": "1"}, prepare=write_a_kill, signals=())


@pytest.fixture(scope="module")
def faulty(reaper_binary: pathlib.Path, folder: pathlib.Path, shim: pathlib.Path,
           module_host: MiniHost) -> Iterator[Faulty]:
    found = Faulty(reaper_binary, folder, shim, Crowd.of(module_host))
    found.begin()
    yield found
    assert found.crowd.is_as_it_was(), "a signal arrived"


def test_calls_that_fail(faulty: Faulty, capsys: pytest.CaptureFixture[str]) -> None:
    """No signal but to the leak, none without an intent, nothing left behind, an end, and the exit status
    that fits what failed."""

    def judge(fault: Fault, run: Run) -> None:
        faulty.judge(run)
        judge_sweep(run, fault.errno, faulty.crowd.leak.pid)

    began = time.monotonic()
    done = faulty.fail_each(lambda site: True, judge)
    done.tell("system calls of a sweep that fail", began, capsys, SELDOM)


def test_limits_hold(reaper_binary: pathlib.Path, shim: pathlib.Path, faulty: Faulty,
                     capsys: pytest.CaptureFixture[str]) -> None:
    """Where the limit of the hour is reached, nobody is signalled because the count cannot be read.

    One that is missing or another's is none (reaper(8)).
    """
    own = public_folder("limits")
    limited = Faulty(reaper_binary, own, shim, faulty.crowd, LIMITED)
    limited.begin()

    def judge(fault: Fault, run: Run) -> None:
        limited.judge(run)
        assert not run.signals or fault.errno in NO_FILE, f"the limit is forgotten: {run}"

    began = time.monotonic()
    try:
        done = limited.fail_each(lambda site: "HOME/state" in site.args, judge)
    finally:
        shutil.rmtree(own)
    done.tell("system calls of a sweep at its limit that fail", began, capsys, SELDOM)


def test_signals_that_fail(faulty: Faulty, capsys: pytest.CaptureFixture[str]) -> None:
    """The one call that reaches others: who is still there is told so, and the next signal may not come at all."""
    failing = Failing(faulty, "SIGNAL_AT", judge_signals_of_sweep)
    failing.each(failing.signals, "signals of a sweep that fail", capsys, ERRNOS, both=True)
