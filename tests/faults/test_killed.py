# SPDX-License-Identifier: Apache-2.0
"""A sweep is killed at any of its system calls: the next one is right, and nobody's time got shorter."""

from __future__ import annotations

import itertools
import pathlib
import subprocess
import time
from collections.abc import Iterator

import pytest
from faulty import ALL, LOST, Crowd, Faulty, Run, seconds, shown
from harness.minihost import MiniHost, Worker
from harness.privilege import needs_strace

pytestmark = needs_strace

KILLS, REACHED = 520, 500  # points (in a soak: all), and of those at least: some calls are made once in a while
KILLED = (-9, 128 + 9)  # as strace(1) tells it
PATIENT_MS = 3_600_000
PATIENT = {"policy.timeout": "1h"}  # nobody is due, and what is left of the time is told
EARLY_MS = 20  # clocks that are read one after the other


def boot_ms() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME) * 1000


class Past:
    """Since when each may count as leaked, at the earliest, and what a sweep has kept of it."""

    def __init__(self, faulty: Faulty, leak: Worker, undated: Worker, leaked_ms: float) -> None:
        self.faulty = faulty
        self.leak = leak
        self.undated = undated
        self.since = {leak.pid: leaked_ms}  # the kernel tells
        faulty.fresh()
        self.seen_ms = boot_ms()
        faulty.reaper.sweep(faulty.crowd.host, settings=PATIENT).expect(0)
        self.history = (faulty.reaper.state_dir / "history").read_bytes()

    def begin(self, known: bool) -> None:
        """A sweep that knows nobody yet, or them from the one before."""
        self.faulty.fresh()
        self.since[self.undated.pid] = self.seen_ms if known else boot_ms()
        if known:
            path = self.faulty.reaper.state_dir / "history"
            path.write_bytes(self.history)
            path.chmod(0o640)

    def judge(self) -> None:
        """What a patient sweep says of the time that is left, after whatever there was before."""
        swept = self.faulty.reaper.sweep(self.faulty.crowd.host, settings=PATIENT).expect(0)
        now_ms = boot_ms()
        for pid, since_ms in self.since.items():
            worker = next(worker for worker in swept.doc["workers"] if worker["pid"] == pid)
            assert (worker["verdict"], worker["reason"]) == ("keep", "waiting"), swept
            least = PATIENT_MS - (now_ms - since_ms) - EARLY_MS
            assert worker["due_in_ms"] >= least, f"{pid} has {worker['due_in_ms']} of {least} ms: {swept}"


@pytest.fixture(scope="module")
def past(reaper_binary: pathlib.Path, folder: pathlib.Path, shim: pathlib.Path,
         module_host: MiniHost) -> Iterator[Past]:
    leaked_ms = boot_ms()
    crowd = Crowd.of(module_host)
    undated, = module_host.daemon(where=str(folder / "daemon.sock")).leak()
    crowd.due.add(undated.pid)
    faulty = Faulty(reaper_binary, folder, shim, crowd)
    faulty.begin()
    yield Past(faulty, crowd.leak, undated, leaked_ms)
    assert crowd.is_as_it_was() and undated.is_alive(), "a signal arrived"


def judge_killed(past: Past, run: Run) -> None:
    """What was done until then, and what the next ones say and do."""
    faulty, leak = past.faulty, past.leak
    for pid, _, _ in run.signals:
        assert pid in faulty.crowd.due and pid in run.intents, run
    past.judge()
    audit = faulty.reaper.audit(faulty.crowd.host).expect(1)
    assert audit.verdict(leak) == ("reap", "peer-closed"), audit
    assert all(audit.verdict(worker)[0] == "keep" for worker in faulty.crowd.kept + faulty.crowd.guarded), audit
    if run.signals:
        limit = {"policy.max_kills_per_hour": str(len({pid for pid, _, _ in run.signals}))}
        held = faulty.run("-e", "trace=pidfd_send_signal", *LOST, settings=limit)
        faulty.judge(held)
        assert held.result.rc == 1 and not held.signals, f"a kill was forgotten: {held}"
    after = faulty.run("-e", "trace=pidfd_send_signal", *LOST)
    faulty.judge(after)
    assert leak.pid in {pid for pid, _, _ in after.signals}, f"the leak was spared: {after}"


def test_killed_at_a_call(past: Past, capsys: pytest.CaptureFixture[str]) -> None:
    """Whether or not it knew them from before, in turn."""
    faulty = past.faulty
    began = time.monotonic()
    points = sorted((site.call, number) for site in faulty.look_for_sites() for number in site.numbers)
    kills = len(points) if ALL else KILLS
    chosen = [points[at * len(points) // kills] for at in range(kills)]
    wrong, missed = [], 0
    for (call, number), known in zip(chosen, itertools.cycle((False, True))):
        past.begin(known)
        try:
            run = faulty.run("-e", f"trace={call},pidfd_send_signal",
                             "-e", f"inject={call}:signal=SIGKILL:when={number}", *LOST)
            missed += run.result.rc not in KILLED
            judge_killed(past, run)
        except (AssertionError, subprocess.TimeoutExpired) as error:
            wrong.append(f"{call}, number {number}: {error}")
    with capsys.disabled():
        print(f"\n{seconds(began)}; of {len(points)} points {missed} were not reached\n"
              f"figure kills of reaper itself at a system call: {len(chosen) - missed} runs, {len(wrong)} wrong")
    assert not wrong, shown(wrong)
    assert len(chosen) - missed >= REACHED, f"{missed} were not reached"
