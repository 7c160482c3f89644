# SPDX-License-Identifier: Apache-2.0
"""Signals of a watch fail, and its reads and writes are short, once or from then on.

REAPER_FAULTS    `all`: every one, both ways
"""

from __future__ import annotations

import os

import pytest
from failing import Failing
from faulty import ALL, ERRNOS, Faulty, Run
from harness.privilege import needs_strace
from statuses import events, judge_signals_of_watch

pytestmark = [needs_strace, pytest.mark.skipif(
    "ASAN_OPTIONS" in os.environ, reason="a sanitizer has an allocator of its own")]

TRANSFERS = 150  # where not all


def judge_short(run: Run) -> None:
    """What comes or goes in parts ends no watch, and each line that it tells is whole."""
    names = [event["event"] for event in events(run)]
    assert run.result.rc == 0 and (names[0], names[-1]) == ("start", "stop"), run


def test_signals_that_fail(faulty_watch: Faulty, capsys: pytest.CaptureFixture[str]) -> None:
    """As of a sweep, in each look: who is still there is told so, and is signalled again at the next one."""
    failing = Failing(faulty_watch, "SIGNAL_AT", judge_signals_of_watch)
    failing.each(failing.signals, "signals of a watch that fail", capsys, ERRNOS)


def test_short_transfers(faulty_watch: Faulty, capsys: pytest.CaptureFixture[str]) -> None:
    """As of a sweep: no reason to spare the leak, and none to end the watch."""
    failing = Failing(faulty_watch, "SHORT_AT", judge_short)
    step = 1 if ALL else max(1, failing.transfers // TRANSFERS)
    once = failing.each(failing.transfers, "short reads and writes of a watch", capsys, ("EIO",), step)
    assert failing.signalled[False] == once
