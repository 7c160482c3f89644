# SPDX-License-Identifier: Apache-2.0
"""Every allocation of a sweep fails, every read and write is short, every open and read of a thread of it
fails, once or from then on.

REAPER_FAULTS    `all`: both of that, and each call of a thread with each errno both ways
"""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Iterator

import pytest
from failing import Failing
from faulty import ALL, ERRNOS, Crowd, Faulty, Run
from harness.minihost import MiniHost
from harness.privilege import needs_strace
from statuses import LEFT

pytestmark = [needs_strace, pytest.mark.skipif(
    "ASAN_OPTIONS" in os.environ, reason="a sanitizer has an allocator of its own")]

BOTH_WAYS = ("EIO",) if ALL else ("EIO", "EIO")  # an errno that tells nothing: each once, and from then on


@pytest.fixture(scope="module")
def faulty(reaper_binary: pathlib.Path, folder: pathlib.Path, shim: pathlib.Path,
           module_host: MiniHost) -> Iterator[Faulty]:
    found = Faulty(reaper_binary, folder, shim, Crowd.of(module_host))
    found.begin()
    yield found
    assert found.crowd.is_as_it_was(), "a signal arrived"


def judge_status(run: Run) -> None:
    """What is known of the leak may be lost with it, and its memory with what is told."""
    rc = run.result.rc
    if rc in (2, 3, 4):
        assert rc != 4, f"nobody else holds the lock: {run}"
        assert rc == 3 or not (run.result.out or run.intents or run.signals), run
    elif rc == 0:
        assert not run.signals, f"the leak is still there: {run}"
    else:
        doc = json.loads(run.result.out)
        assert any(action["outcome"] in LEFT for action in doc["actions"]), f"what leaks? {run}"


def test_allocations_that_fail(faulty: Faulty, capsys: pytest.CaptureFixture[str]) -> None:
    """No signal but to the leak, none without an intent, a documented exit status, no crash, no leak."""
    failing = Failing(faulty, "FAIL_AT", judge_status)
    failing.each(failing.allocations, "failing allocations of a sweep", capsys)


def test_short_transfers(faulty: Faulty, capsys: pytest.CaptureFixture[str]) -> None:
    """As above; and what arrives or leaves in parts is no reason to spare the leak."""
    failing = Failing(faulty, "SHORT_AT", judge_status)
    once = failing.each(failing.transfers, "short reads and writes of a sweep", capsys, BOTH_WAYS)
    assert failing.signalled[False] > once * 0.9


def test_calls_of_threads_that_fail(faulty: Faulty, capsys: pytest.CaptureFixture[str]) -> None:
    """What a thread reads for the look is unknown then, and the leak is ended by what is known."""
    failing = Failing(faulty, "THREAD_AT", judge_status)
    assert failing.of_threads > 10, "no thread makes them"
    once = failing.each(failing.of_threads, "failing calls of a thread of a sweep", capsys, ERRNOS)
    assert 0 < failing.signalled[False] < once
