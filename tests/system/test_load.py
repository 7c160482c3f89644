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
PAST_SILENT = {**SETTINGS, "policy.silent_after": "1s"}
FDS_EACH = 4  # a pin of this test, and the host's end
# A heap that grows with the square of the crowd does not get by with this: a sweep holds two looks and
# its document, some 18 KiB for each worker.
HEAP = (16 << 20) + WORKERS * (24 << 10)
# Some ten times what a busy machine of two processors takes: it is to find what grows with the square.
TOOK_S = 5 + WORKERS * 0.07
LIMITED = () if any(name.endswith("SAN_OPTIONS") for name in os.environ) else (
    "prlimit", f"--data={HEAP}")

# Verdict, reason and fence.
IDLE = ("keep", "idle", "none")
SILENT = ("suspect", "silent", "none")  # what is idle, past silent_after
HUNG_UP = ("reap", "peer-closed", "peer-closed")
SIGNED_OFF = ("reap", "signed-off", "signed-off")
UNREAD = ("keep", "unread-bytes", "signed-off")

# What each kind is told to do, what its host does then, and what must be said of it. The first is
# what most workers of a real daemon are.
KINDS = {
    "pooled": (None, None, IDLE),
    "asleep in a task": ("sleep", None, IDLE),
    "in poll in a task": ("poll", None, IDLE),
    "half closed": ("poll", "half-close", IDLE),
    "hung up upon": ("poll", "close", HUNG_UP),
    "hung up upon with a helper": ("helper then poll", "close", HUNG_UP),
    "signed off": ("signoff", None, SIGNED_OFF),
    "signed off, unread": ("signoff 100000", None, UNREAD),
    "ignores SIGTERM": ("ignore-term then poll", "close", HUNG_UP),
}
BUSY = 2  # that compute: the machine has few cores
WORKS = {("keep", "serving", "none"), ("keep", "running", "none")}


def populate(host: MiniHost) -> dict[str, list[Worker]]:
    """All of them, each kind in turn, so that neighbours differ."""
    daemon = host.daemon()
    names = list(KINDS)
    crowd: dict[str, list[Worker]] = {name: [] for name in names}
    for i in range(WORKERS - BUSY):
        name = names[0] if i % 3 == 0 else names[(i - i // 3 - 1) % len(names)]
        steps, then, _ = KINDS[name]
        worker = daemon.open()
        if steps:
            worker.task(steps)
        if then == "close":
            worker.close()
        elif then == "half-close":
            worker.half_close()
        crowd[name].append(worker)
    assert all(crowd.values())
    crowd["busy"] = [daemon.open() for _ in range(BUSY)]
    for worker in crowd["busy"]:
        worker.task("cpu")
    return crowd


def wrong(result: Result, crowd: dict[str, list[Worker]], idle: tuple[str, ...]) -> list[str]:
    """Who is not judged as its kind must be, where the idle are to be judged so."""
    found = {w["pid"]: (w["verdict"], w["reason"], w["fence"]) for w in result.doc["workers"]}
    expected = {name: {idle if row[2] == IDLE else row[2]} for name, row in KINDS.items()}
    expected["busy"] = WORKS
    return [f"{name} {worker.pid}: {found.get(worker.pid)}"
            for name, workers in crowd.items() for worker in workers
            if found.get(worker.pid) not in expected[name]]


def audit_until_right(reaper: Reaper, host: MiniHost, crowd: dict[str, list[Worker]],
                      settings: dict[str, str], idle: tuple[str, ...]) -> None:
    """Looks until no verdict is wrong: not all fall asleep at once."""
    last: list[list[str]] = []

    def all_right() -> bool:
        last[:] = [wrong(reaper.audit(host, settings=settings, prefix=LIMITED), crowd, idle)]
        return not last[0]

    try:
        until("every verdict is right", all_right, 60)
    except AssertionError as error:
        raise AssertionError(f"{error}: {last[0][:20]}") from None


def test_everything_is_decided_right(reaper: Reaper, host: MiniHost) -> None:
    """An audit before and one after silent_after, a sweep, an audit: no verdict is wrong, and exactly
    the due ones are gone."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(hard, max(soft, FDS_EACH * WORKERS + 1024))
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    crowd = populate(host)
    due = {w.pid for name, workers in crowd.items() for w in workers
           if name in KINDS and KINDS[name][2][0] == "reap"}
    helpers = [h for workers in crowd.values() for w in workers for h in w.helpers]
    assert len(helpers) == len(crowd["hung up upon with a helper"])
    audit_until_right(reaper, host, crowd, SETTINGS, IDLE)
    audit_until_right(reaper, host, crowd, PAST_SILENT, SILENT)

    swept = reaper.sweep(host, settings=PAST_SILENT, prefix=LIMITED, timeout_s=600).expect(0)
    assert swept.acted_on == due
    assert {a["pid"] for a in swept.doc["actions"]} == due | {h.pid for h in helpers}
    assert swept.took_s < TOOK_S
    outcomes = {a["outcome"] for a in swept.doc["actions"]}
    assert outcomes <= {"exited", "killed"}
    print(f"{WORKERS} workers, {len(due)} due, ended in {swept.took_s:.1f} s")

    for name, workers in crowd.items():
        for worker in workers:
            assert worker.pinned.has_ended() == (worker.pid in due), f"{name} {worker.pid}"
    assert all(helper.has_ended() for helper in helpers)
    living = [worker for worker in crowd["pooled"][:20]]
    assert all(worker.serves() for worker in living)
    after = reaper.audit(host, settings=SETTINGS).expect(0)
    assert after.doc["summary"]["workers"] == WORKERS - len(due)
    assert after.doc["summary"]["reap"] == 0
