# SPDX-License-Identifier: Apache-2.0
"""Hundreds of live workers under one daemon, of every verdict: each is judged right, and only what
is due ends. REAPER_LOAD says how many; tools/soak runs it with 4,270."""

from __future__ import annotations

import os
import resource

from harness.binary import Reaper, Result
from harness.minihost import MiniHost, Worker
from harness.procs import until

WORKERS = int(os.environ.get("REAPER_LOAD", "427"))
SETTINGS = {"policy.max_kills_per_sweep": "100000", "policy.max_kills_per_hour": "100000",
            "policy.sample": "200ms"}
FDS_EACH = 4  # a pin of this test, and the host's end
# A heap that grows with the square of the crowd does not get by with this: a sweep holds two looks and
# its document, some 18 KiB for each worker.
HEAP = (16 << 20) + WORKERS * (24 << 10)
LIMITED = () if any(name.endswith("SAN_OPTIONS") for name in os.environ) else (
    "prlimit", f"--data={HEAP}")

# What each kind is told to do, what its host does then, and what must be said of it. The first is
# what most workers of a real daemon are.
KINDS = {
    "pooled": (None, None, {("keep", "idle")}),
    "asleep in a task": ("sleep", None, {("keep", "idle")}),
    "in poll in a task": ("poll", None, {("keep", "idle")}),
    "half closed": ("poll", "half-close", {("keep", "idle")}),
    "hung up upon": ("poll", "close", {("reap", "peer-closed")}),
    "hung up upon with a helper": ("helper then poll", "close", {("reap", "peer-closed")}),
    "signed off": ("signoff", None, {("reap", "signed-off")}),
    "signed off, unread": ("signoff 100000", None, {("keep", "unread-bytes")}),
    "ignores SIGTERM": ("ignore-term then poll", "close", {("reap", "peer-closed")}),
}
BUSY = 2  # that compute: the machine has few cores


def populate(host: MiniHost) -> dict[str, list[Worker]]:
    """All of them, each kind in turn, so that neighbours differ."""
    daemon = host.daemon()
    names = list(KINDS)
    crowd: dict[str, list[Worker]] = {name: [] for name in names}
    for i in range(WORKERS - BUSY):
        name = names[0] if i % 3 == 0 else names[i % len(names)]
        steps, then, _ = KINDS[name]
        worker = daemon.open()
        if steps:
            worker.task(steps)
        if then == "close":
            worker.close()
        elif then == "half-close":
            worker.half_close()
        crowd[name].append(worker)
    crowd["busy"] = [daemon.open() for _ in range(BUSY)]
    for worker in crowd["busy"]:
        worker.task("cpu")
    return crowd


def wrong(result: Result, crowd: dict[str, list[Worker]]) -> list[str]:
    """Who is not judged as its kind must be."""
    found = {w["pid"]: (w["verdict"], w["reason"]) for w in result.doc["workers"]}
    expected = {name: row[2] for name, row in KINDS.items()}
    expected["busy"] = {("keep", "serving"), ("keep", "running")}
    return [f"{name} {worker.pid}: {found.get(worker.pid)}"
            for name, workers in crowd.items() for worker in workers
            if found.get(worker.pid) not in expected[name]]


def test_everything_is_decided_right(reaper: Reaper, host: MiniHost) -> None:
    """One audit, one sweep, one audit: no verdict is wrong, and exactly the due ones are gone."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(hard, max(soft, FDS_EACH * WORKERS + 1024))
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    crowd = populate(host)
    due = {w.pid for name, workers in crowd.items() for w in workers
           if name in KINDS and ("reap" in {v for v, _ in KINDS[name][2]})}
    last: list[list[str]] = []

    def all_right() -> bool:
        last[:] = [wrong(reaper.audit(host, settings=SETTINGS, prefix=LIMITED), crowd)]
        return not last[0]

    try:
        until("every verdict is right", all_right, 60)
    except AssertionError as error:
        raise AssertionError(f"{error}: {last[0][:20]}") from None

    swept = reaper.sweep(host, settings=SETTINGS, prefix=LIMITED, timeout_s=600).expect(0)
    assert swept.acted_on == due
    outcomes = {a["outcome"] for a in swept.doc["actions"]}
    assert outcomes <= {"exited", "killed"}
    print(f"{WORKERS} workers, {len(due)} due, ended in {swept.took_s:.1f} s")

    for name, workers in crowd.items():
        for worker in workers:
            assert worker.pinned.has_ended() == (worker.pid in due), f"{name} {worker.pid}"
    living = [worker for worker in crowd["pooled"][:20]]
    assert all(worker.serves() for worker in living)
    after = reaper.audit(host, settings=SETTINGS).expect(0)
    assert after.doc["summary"]["workers"] == WORKERS - len(due)
    assert after.doc["summary"]["reap"] == 0
