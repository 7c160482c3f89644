# SPDX-License-Identifier: Apache-2.0
"""Every system call of a sweep fails, once and from then on, and a sweep is killed at any of them.

Those of the thread that reads what can be kept from being read fail in test_memory.py.

REAPER_FAULTS    `all`: each call with every errno (tools/soak), not with the next one in turn
"""

from __future__ import annotations

import itertools
import os
import pathlib
import shutil
import time
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from faulty import ERRNOS, LOST, Crowd, Faulty, Site, seconds, sites, wait_due
from harness.binary import Reaper
from harness.folders import public_folder
from harness.minihost import MiniHost
from harness.privilege import needs_strace

ALL = os.environ.get("REAPER_FAULTS") == "all"
EACH = 2  # errnos for each call, if not all
MISSED_MOST = 5  # sites, in both attempts
KILLS = 500  # points at which a sweep is killed
SHOWN = 5  # of what went wrong

pytestmark = needs_strace


class Fault(NamedTuple):
    """A call that fails, by its number among those of its name."""

    call: str
    number: int
    errno: str
    ever_after: bool

    def option(self) -> str:
        return (f"inject={self.call}:error={self.errno}:when={self.number}"
                f"{'+' if self.ever_after else ''}")


@pytest.fixture(scope="module")
def faulty(reaper_binary: pathlib.Path, module_host: MiniHost) -> Iterator[Faulty]:
    folder = public_folder("faults")
    found = Faulty(reaper_binary, folder, Crowd.of(module_host))
    wait_due(found)
    yield found
    assert found.crowd.leak.is_alive(), "a signal arrived"
    assert all(worker.is_alive() for worker in found.crowd.kept)
    assert found.crowd.kept[0].serves()
    shutil.rmtree(folder)


def look_for_sites(faulty: Faulty) -> list[Site]:
    """The calls of a sweep in which nothing fails, which signals the leak twice."""
    with faulty.home() as reaper:
        run = faulty.sweep(reaper, "-e", "trace=all", *LOST)
    faulty.judge(run)
    assert [name for _, name, _ in run.signals] == ["SIGTERM", "SIGKILL"], run
    return sites(run.trace)


@pytest.fixture(scope="module")
def all_sites(faulty: Faulty) -> list[Site]:
    return look_for_sites(faulty)


def faults(found: list[Site]) -> Iterator[Fault]:
    """The first, the middle and the last call of each site; some errnos in turn, or all.

    Not EINTR for ever: that would take a signal for each call.
    """
    turns = {False: itertools.cycle(ERRNOS),
             True: itertools.cycle(errno for errno in ERRNOS if errno != "EINTR")}
    for site in found:
        at = site.numbers
        for number in sorted({at[0], at[len(at) // 2], at[-1]}):
            for ever_after, turn in turns.items():
                for errno in itertools.islice(turn, len(ERRNOS) if ALL else EACH):
                    yield Fault(site.call, number, errno, ever_after)


def told(what: str, count: int, wrong: list[str], began: float,
         capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print(f"\n{seconds(began)}\nfigure {what}: {count} runs, {len(wrong)} wrong")
    assert not wrong, "\n\n".join(wrong[:SHOWN])


def test_calls_that_fail(faulty: Faulty, all_sites: list[Site],
                         capsys: pytest.CaptureFixture[str]) -> None:
    """No signal but to the leak, none without an intent, a documented exit status, and an end."""
    hit: set[tuple[str, str]] = set()

    def one(reaper: Reaper, fault: object) -> str | None:
        assert isinstance(fault, Fault)
        run = faulty.sweep(reaper, "-e", f"trace={fault.call},pidfd_send_signal",
                           "-e", fault.option(), *LOST)
        failed = run.failed_at()
        if failed:
            hit.add(failed)
        faulty.judge(run)
        return None

    def missed() -> list[Site]:
        return [site for site in look_for_sites(faulty) if (site.call, site.args) not in hit]

    began = time.monotonic()
    count, wrong = faulty.each(one, faults(all_sites))
    # Processes come and go, and with them the number of a call: what was missed is tried alone.
    more, also = faulty.each(one, faults(missed()), at_once=1)
    left = missed()
    told("system calls of a sweep that fail", count + more, wrong + also, began, capsys)
    with capsys.disabled():
        print(f"{len(all_sites)} sites, {len(left)} missed")
    assert len(left) <= MISSED_MOST, [str(site) for site in left]


def test_signals_that_fail(faulty: Faulty, capsys: pytest.CaptureFixture[str]) -> None:
    """The one call that reaches others: whatever it says, it is not made again and again."""

    def one(reaper: Reaper, fault: object) -> str | None:
        assert isinstance(fault, Fault)
        run = faulty.sweep(reaper, "-e", "trace=pidfd_send_signal", "-e", fault.option())
        assert run.result.rc in (0, 1, 3), run
        assert len(run.signals) <= 2, run
        return None

    began = time.monotonic()
    # from the first call on only: what is let through would arrive
    each = [Fault("pidfd_send_signal", 1, errno, True) for errno in ERRNOS]
    count, wrong = faulty.each(one, each)
    told("signals of a sweep that fail", count, wrong, began, capsys)


def test_killed_at_a_call(faulty: Faulty, all_sites: list[Site],
                          capsys: pytest.CaptureFixture[str]) -> None:
    """A sweep that dies at any moment: the next one judges as if there had been none before."""
    crowd = faulty.crowd
    points = sorted((site.call, number) for site in all_sites for number in site.numbers)
    every = max(1, len(points) // KILLS)

    def one(reaper: Reaper, point: object) -> str | None:
        assert isinstance(point, tuple)
        call, number = point
        run = faulty.sweep(reaper, "-e", f"trace={call},pidfd_send_signal",
                           "-e", f"inject={call}:signal=SIGKILL:when={number}", *LOST)
        for pid, _, _ in run.signals:
            assert pid == crowd.leak.pid and pid in run.intents, run
        audit = reaper.audit(crowd.host).expect(1)
        assert audit.verdict(crowd.leak) == ("reap", "peer-closed"), audit
        assert all(audit.verdict(worker)[0] == "keep" for worker in crowd.kept), audit
        after = faulty.sweep(reaper, "-e", "trace=pidfd_send_signal", *LOST)
        faulty.judge(after)
        assert after.signals, f"the leak was spared: {after}"
        return None

    began = time.monotonic()
    count, wrong = faulty.each(one, points[::every])
    told("kills of reaper itself at a system call", count, wrong, began, capsys)
