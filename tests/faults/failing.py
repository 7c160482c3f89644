# SPDX-License-Identifier: Apache-2.0
"""Runs in which fail.c makes the Nth allocation, transfer, call of a thread or signal fail."""

from __future__ import annotations

import errno
import subprocess
import time
from collections.abc import Callable

import pytest
from faulty import ALL, LOST, Faulty, Run, seconds, shown


COUNTED = ("FAIL_AT", "SHORT_AT", "THREAD_AT", "SIGNAL_AT")  # as Run.counts() has them


class Failing:
    """Runs of a scene in which one thing fails, or all from one on."""

    def __init__(self, faulty: Faulty, name: str, judge_status: Callable[[Run], None]) -> None:
        self.faulty = faulty
        self.name = name
        self.judge_status = judge_status
        self.signalled = {False: 0, True: 0}  # by whether all that follow failed too
        faulty.fresh()
        run = self.run()
        faulty.judge_signals(run)
        self.allocations, self.transfers, self.of_threads, self.signals, *_ = run.counts()

    def run(self, *env: str) -> Run:
        return self.faulty.run("-e", "trace=pidfd_send_signal", *LOST,
                               env=("-E", "THREAD_AT=0", *(word for name in env for word in ("-E", name))))

    def one(self, number: int, ever_after: bool, name: str) -> bool:
        """Whether there were so many that one failed."""
        self.faulty.fresh()
        run = self.run(f"{self.name}={number}", f"ERRNO={getattr(errno, name)}",
                       *(["EVER_AFTER=1"] if ever_after else []))
        self.signalled[ever_after] += bool(run.signals)
        self.faulty.judge(run)
        self.judge_status(run)
        return run.counts()[COUNTED.index(self.name)] >= number

    def each(self, most: int, what: str, capsys: pytest.CaptureFixture[str],
             names: tuple[str, ...] = ("ENOMEM",), step: int = 1, both: bool = ALL) -> int:
        """Each `step`th in turn, with each errno, in turn once and from then on, or both. In how many runs that
        was once."""
        began = time.monotonic()
        items = [(number, ever_after, name) for row, number in enumerate(range(1, most + 1, step))
                 for column, name in enumerate(names) for ever_after in (False, True)
                 if both or (row + column) % 2 == ever_after or name == "EINTR"]
        # not EINTR for ever: that would take a signal for each call
        items = [item for item in items if not (item[1] and item[2] == "EINTR")]
        wrong, failed = [], 0
        for item in items:
            try:
                failed += self.one(*item)
            except (AssertionError, subprocess.TimeoutExpired) as error:
                wrong.append(f"{item}: {error}")
                failed += 1
        with capsys.disabled():
            print(f"\n{most} of them, in steps of {step}, {seconds(began)}; in "
                  f"{sum(self.signalled.values())} runs the leak was signalled\n"
                  f"figure {what}: {failed} runs, {len(wrong)} wrong")
        assert not wrong, shown(wrong)
        assert failed > len(items) * 0.9, "too few runs came so far"
        return sum(not ever_after for _, ever_after, _ in items)
