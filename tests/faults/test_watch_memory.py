# SPDX-License-Identifier: Apache-2.0
"""Allocations of a watch fail, once or from then on.

REAPER_FAULTS    `all`: every one, both ways
"""

from __future__ import annotations

import os

import pytest
from failing import Failing
from faulty import ALL, Faulty, Run
from harness.privilege import needs_strace
from statuses import events

pytestmark = [needs_strace, pytest.mark.skipif(
    "ASAN_OPTIONS" in os.environ, reason="a sanitizer has an allocator of its own")]

RUNS = 200  # where not all: one whose every allocation fails waits until it is told to stop


def judge_status(run: Run) -> None:
    """It does not begin, or goes on until it is told to stop; an event that is lost is told of."""
    rc, names = run.result.rc, [event["event"] for event in events(run)]
    assert rc != 4, f"nobody else holds the lock: {run}"
    if rc:
        assert not (names or run.intents or run.signals), f"it had begun to watch: {run}"
    assert run.said() or (names[:1] == ["start"] and names[-1:] == ["stop"]), f"it says nothing: {run}"


def test_allocations_that_fail(faulty_watch: Faulty, capsys: pytest.CaptureFixture[str]) -> None:
    """As of a sweep; and what one look lacks is no reason to spare the leak in the next one."""
    failing = Failing(faulty_watch, "FAIL_AT", judge_status)
    step = 1 if ALL else max(1, failing.allocations // RUNS)
    once = failing.each(failing.allocations, "failing allocations of a watch", capsys, step=step)
    assert failing.signalled[False] > once * 0.9
