# SPDX-License-Identifier: Apache-2.0
"""Every allocation of a sweep fails, every read and write is short, every open and read of a thread of it
fails, once or from then on.

REAPER_FAULTS    `all`: both of that, and each call of a thread with each errno both ways
"""

from __future__ import annotations

import errno
import json
import os
import pathlib
import subprocess
import time
from collections.abc import Iterator

import pytest
from faulty import ALL, ERRNOS, LOST, Crowd, Faulty, Run, seconds, shown
from harness.minihost import MiniHost
from harness.privilege import needs_strace
from statuses import LEFT

pytestmark = [needs_strace, pytest.mark.skipif(
    "ASAN_OPTIONS" in os.environ, reason="a sanitizer has an allocator of its own")]


@pytest.fixture(scope="module")
def faulty(reaper_binary: pathlib.Path, folder: pathlib.Path, shim: pathlib.Path,
           module_host: MiniHost) -> Iterator[Faulty]:
    found = Faulty(reaper_binary, folder, shim, Crowd.of(module_host))
    found.begin()
    yield found
    assert found.crowd.is_as_it_was(), "a signal arrived"


class Failing:
    """Sweeps in which one thing fails, or all from one on."""

    def __init__(self, faulty: Faulty, name: str) -> None:
        self.faulty = faulty
        self.name = name
        self.signalled = {False: 0, True: 0}  # by whether all that follow failed too
        faulty.fresh()
        run = self.run()
        assert len(run.signals) == 2, run
        self.allocations, self.transfers, self.of_threads, *_ = run.counts()

    def run(self, *env: str) -> Run:
        return self.faulty.run("-e", "trace=pidfd_send_signal", *LOST,
                               env=("-E", "THREAD_AT=0", *(word for name in env for word in ("-E", name))))

    def one(self, number: int, ever_after: bool, name: str) -> None:
        self.faulty.fresh()
        run = self.run(f"{self.name}={number}", f"ERRNO={getattr(errno, name)}",
                       *(["EVER_AFTER=1"] if ever_after else []))
        self.signalled[ever_after] += bool(run.signals)
        self.faulty.judge(run)
        self.judge_status(run)

    def judge_status(self, run: Run) -> None:
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

    def each(self, most: int, what: str, capsys: pytest.CaptureFixture[str],
             names: tuple[str, ...] = ("ENOMEM",)) -> int:
        """Each in turn, with each errno, in turn once and from then on. How many failed once."""
        began = time.monotonic()
        items = [(number, ever_after, name) for number in range(1, most + 1)
                 for column, name in enumerate(names) for ever_after in (False, True)
                 if ALL or (number + column) % 2 == ever_after or name == "EINTR"]
        # not EINTR for ever: that would take a signal for each call
        items = [item for item in items if not (item[1] and item[2] == "EINTR")]
        wrong = []
        for item in items:
            try:
                self.one(*item)
            except (AssertionError, subprocess.TimeoutExpired) as error:
                wrong.append(f"{item}: {error}")
        with capsys.disabled():
            print(f"\n{most} of them, {seconds(began)}; in {sum(self.signalled.values())} sweeps the "
                  f"leak was signalled\nfigure {what} of a sweep: {len(items)} runs, {len(wrong)} wrong")
        assert not wrong, shown(wrong)
        return sum(not ever_after for _, ever_after, _ in items)


def test_allocations_that_fail(faulty: Faulty, capsys: pytest.CaptureFixture[str]) -> None:
    """No signal but to the leak, none without an intent, a documented exit status, no crash, no leak."""
    failing = Failing(faulty, "FAIL_AT")
    failing.each(failing.allocations, "failing allocations", capsys)


def test_short_transfers(faulty: Faulty, capsys: pytest.CaptureFixture[str]) -> None:
    """As above; and what arrives or leaves in parts is no reason to spare the leak."""
    failing = Failing(faulty, "SHORT_AT")
    once = failing.each(failing.transfers, "short reads and writes", capsys, ("EIO", "EIO"))
    assert failing.signalled[False] > once * 0.9


def test_calls_of_threads_that_fail(faulty: Faulty, capsys: pytest.CaptureFixture[str]) -> None:
    """What a thread reads for the look is unknown then, and the leak is ended by what is known."""
    failing = Failing(faulty, "THREAD_AT")
    assert failing.of_threads > 10, "no thread makes them"
    once = failing.each(failing.of_threads, "failing calls of a thread", capsys, ERRNOS)
    assert 0 < failing.signalled[False] < once
