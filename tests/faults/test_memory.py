# SPDX-License-Identifier: Apache-2.0
"""Every allocation of a sweep fails, every read and write is short, every open and read of a thread of it
fails, once and from then on."""

from __future__ import annotations

import errno
import itertools
import os
import pathlib
import re
import shutil
import subprocess
import time
from collections.abc import Iterator

import pytest
from faulty import ERRNOS, LOST, Crowd, Faulty, Run, seconds, wait_due
from harness.binary import Reaper
from harness.folders import public_folder
from harness.minihost import MiniHost
from harness.privilege import needs_strace

pytestmark = [needs_strace, pytest.mark.skipif(
    "ASAN_OPTIONS" in os.environ, reason="a sanitizer has an allocator of its own")]

SOURCE = pathlib.Path(__file__).with_name("fail.c")
COUNTS = re.compile(r"allocations: (\d+), transfers: (\d+), calls of threads: (\d+), "
                    r"left: (-?\d+) blocks, (\d+) descriptors")
ALL = os.environ.get("REAPER_FAULTS") == "all"
SAMPLE = 300  # of each kind, if not all
SHOWN = 5


@pytest.fixture(scope="module")
def faulty(reaper_binary: pathlib.Path, module_host: MiniHost) -> Iterator[Faulty]:
    folder = public_folder("memory")
    found = Faulty(reaper_binary, folder, Crowd.of(module_host))
    wait_due(found)
    yield found
    assert found.crowd.leak.is_alive(), "a signal arrived"
    assert found.crowd.kept[0].serves()
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def shim() -> Iterator[pathlib.Path]:
    folder = public_folder("shim")
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", folder / "fail.so", SOURCE], check=True)
    yield folder / "fail.so"
    shutil.rmtree(folder)


class Failing:
    """Sweeps in which one thing fails, or all from one on."""

    def __init__(self, faulty: Faulty, shim: pathlib.Path, name: str) -> None:
        self.faulty = faulty
        self.shim = shim
        self.name = name
        self.signalled = {False: 0, True: 0}  # by whether all that follow failed too
        (self.allocations, self.transfers, self.of_threads,
         self.blocks, self.descriptors) = self.clean()

    def options(self, number: int, ever_after: bool, name: str) -> tuple[str, ...]:
        chosen = ("-E", f"LD_PRELOAD={self.shim}", "-E", f"{self.name}={number}",
                  "-E", f"ERRNO={getattr(errno, name)}")
        return chosen + (("-E", "EVER_AFTER=1") if ever_after else ())

    def sweep(self, reaper: Reaper, number: int, ever_after: bool, name: str = "ENOMEM") -> Run:
        run = self.faulty.sweep(reaper, "-e", "trace=pidfd_send_signal", *LOST,
                                *self.options(number, ever_after, name))
        self.faulty.judge(run)
        return run

    @staticmethod
    def counts(run: Run) -> list[int]:
        """Of allocations, transfers and calls; of blocks of memory and descriptors at the end."""
        found = COUNTS.search(run.result.err)
        assert found, f"it crashed: {run}"
        return [int(number) for number in found.groups()]

    def clean(self) -> list[int]:
        """The same of a sweep in which nothing fails."""
        with self.faulty.home() as reaper:
            run = self.sweep(reaper, 0, False)
        assert len(run.signals) == 2, run
        return self.counts(run)

    def one(self, reaper: Reaper, item: object) -> str | None:
        assert isinstance(item, tuple)
        run = self.sweep(reaper, *item)
        self.signalled[item[1]] += bool(run.signals)
        *_, blocks, descriptors = self.counts(run)
        assert blocks <= self.blocks and descriptors <= self.descriptors, f"it leaks: {run}"
        return None

    def each(self, most: int, what: str, capsys: pytest.CaptureFixture[str],
             names: tuple[str, ...] = ("ENOMEM",)) -> int:
        """Fails each in turn, with the next errno or with all. In how many sweeps one failed.

        Not EINTR for ever: that would take a signal for each call.
        """
        began = time.monotonic()
        step = 1 if ALL else max(1, most // SAMPLE)
        turn = itertools.cycle(names)
        items = [(number, ever_after, name) for number in range(1, most + 1, step)
                 for ever_after in (False, True)
                 for name in (names if ALL else (next(turn),))
                 if not (ever_after and name == "EINTR")]
        count, wrong = self.faulty.each(self.one, items)
        with capsys.disabled():
            print(f"\n{most} of them, {seconds(began)}; in {sum(self.signalled.values())} sweeps the "
                  f"leak was signalled\nfigure {what} of a sweep: {count} runs, {len(wrong)} wrong")
        assert not wrong, "\n\n".join(wrong[:SHOWN])
        return sum(not ever_after for _, ever_after, _ in items)


def test_allocations_that_fail(faulty: Faulty, shim: pathlib.Path,
                               capsys: pytest.CaptureFixture[str]) -> None:
    """No signal but to the leak, none without an intent, a documented exit status, no crash."""
    failing = Failing(faulty, shim, "FAIL_AT")
    failing.each(failing.allocations, "failing allocations", capsys)


def test_short_transfers(faulty: Faulty, shim: pathlib.Path,
                         capsys: pytest.CaptureFixture[str]) -> None:
    """As above; and what arrives or leaves in parts is no reason to spare the leak."""
    failing = Failing(faulty, shim, "SHORT_AT")
    once = failing.each(failing.transfers, "short reads and writes", capsys)
    assert failing.signalled[False] > once * 0.9


def test_calls_of_threads_that_fail(faulty: Faulty, shim: pathlib.Path,
                                    capsys: pytest.CaptureFixture[str]) -> None:
    """What a thread reads for the look is unknown then, and the leak is ended by what is known."""
    failing = Failing(faulty, shim, "THREAD_AT")
    assert failing.of_threads > 10, "no thread makes them"
    once = failing.each(failing.of_threads, "failing calls of a thread", capsys, ERRNOS)
    assert 0 < failing.signalled[False] < once
