# SPDX-License-Identifier: Apache-2.0
"""A JVM that tells of itself by reaper-markers.jar: `task-ended` in each of its three ways, and with
one of its conditions missing. The jar tells of now alone, and nothing that is wrong: what lies in the past
or would be, the last tests write themselves."""

from __future__ import annotations

import pathlib
import time
from typing import Any

from harness.binary import Reaper, Result
from harness.markers import PastLog, tasks_that_ended
from harness.minihost import Daemon, MiniHost, OldWorkers, StartHost, Worker
from harness.procs import until

CLASS = "pyjava"  # which leaves pool_timeout to the log
DUE = ("reap", "task-ended", "task-ended")
BEATS_S = 25  # two lists ten seconds apart, both begun later than all that is told
QUIET_S = 60  # pool_timeout (1 s), 40 s, and the beat that follows
GROWN_S = 44.5  # the same in a log that was written by us, and its own beginning


def told(result: Result, worker: Worker) -> tuple[str, str, str]:
    """Its verdict, the reason, and the proof that holds."""
    entry = result.worker(worker)
    return entry["verdict"], entry["reason"], entry["fence"]


def kept(reason: str) -> tuple[str, str, str]:
    return "keep", reason, "none"


def begin(host: MiniHost, worker: Worker) -> None:
    host.jar(f"begin t{worker.index} {worker.index}")


def start(start_host: StartHost, reaper: Reaper, jars: pathlib.Path, promise: str,
          count: int) -> tuple[MiniHost, Daemon, list[Worker]]:
    """A host with that promise, and workers each of which has served one task."""
    host = start_host(fresh=True, jars=jars)
    host.jar(f"open {reaper.marker_dir} {CLASS} {promise}")
    daemon = host.daemon(f"{CLASS}.daemon")
    workers = [daemon.open() for _ in range(count)]
    for worker in workers:
        begin(host, worker)
    # A binding by ports counts once a look has seen the connection.
    reaper.audit(host)
    return host, daemon, workers


def end_all(host: MiniHost, workers: list[Worker]) -> None:
    for worker in workers:
        host.jar(f"end t{worker.index}")


def sweep_ends(reaper: Reaper, host: MiniHost, due: list[Worker],
               others: dict[Worker, str]) -> None:
    """All of `due`, with that proof, and none of the others, which are kept for these reasons."""
    expected = {worker.pid: kept(reason) for worker, reason in others.items()}
    expected |= {worker.pid: DUE for worker in due}
    result = reaper.audit(host)
    assert {worker.pid: told(result, worker) for worker in (*due, *others)} == expected, result
    swept = reaper.sweep(host).expect(0)
    assert swept.acted_on == {worker.pid for worker in due}
    assert all(worker.serves() for worker in others)


def wait_due(reaper: Reaper, host: MiniHost, worker: Worker, seconds: float) -> None:
    def is_due() -> bool:
        time.sleep(0.5)
        return told(reaper.audit(host), worker) == DUE

    until(f"{worker.pid} is due", is_due, seconds)


def test_declared(reaper: Reaper, start_host: StartHost, jars: pathlib.Path) -> None:
    """It never reuses a worker: one whose task has ended is given up; one that serves is not, nor one
    that has served nobody, nor one of another class."""
    host, _, (leaked, serving, bound_twice) = start(start_host, reaper, jars, "none", 3)
    host.jar(f"begin again {bound_twice.index}")
    foreign = host.daemon("pyspark.daemon").open()
    begin(host, foreign)
    reaper.audit(host)
    end_all(host, [leaked, bound_twice, foreign])
    unbound = host.daemons[0].open()
    wait_due(reaper, host, leaked, 15)
    sweep_ends(reaper, host, [leaked], {
        serving: "serving", bound_twice: "serving", unbound: "idle", foreign: "idle"})


def test_reported(reaper: Reaper, start_host: StartHost, jars: pathlib.Path) -> None:
    """Two lists of its pool and its leases without a worker whose task has ended."""
    host, _, workers = start(start_host, reaper, jars, "reported", 6)
    leaked, pooled, given_up, leased, serving, fresh = workers
    host.jar(f"pool {pooled.index}")
    host.jar(f"pool {given_up.index}")
    host.jar(f"lease {leased.index} other")
    end_all(host, [leaked, pooled, given_up, leased])
    assert told(reaper.audit(host), leaked) == kept("idle"), "no list has followed yet"
    wait_due(reaper, host, leaked, BEATS_S)
    # Neither was ever in a list; but the lists are older than the one, and than the other's end.
    late = host.daemons[0].open()
    end_all(host, [fresh])
    assert told(reaper.audit(host), given_up) == kept("pooled")
    sweep_ends(reaper, host, [leaked], {
        pooled: "pooled", leased: "leased", serving: "serving", late: "idle", fresh: "idle"})
    for worker in (pooled, given_up):
        host.jar(f"drop {worker.index}")
    wait_due(reaper, host, given_up, BEATS_S)
    assert told(reaper.audit(host), pooled) == kept("idle"), \
        "it moved a byte long after its last task: a task was not told of"


def test_host_idle(reaper: Reaper, start_host: StartHost, jars: pathlib.Path) -> None:
    """It tells of every task and runs none for longer than its pool lives; but of two more of its
    workers one moves a byte in that time, and one is born in it. Of four others one runs a task all
    the time, one is stopped for a while, one promises nothing, and one does not say how long its
    pool lives."""
    idle, daemon, (leaked, moved) = start(start_host, reaper, jars, "all", 2)
    busy, _, busy_workers = start(start_host, reaper, jars, "all", 1)
    stopped, _, stopped_workers = start(start_host, reaper, jars, "all", 1)
    silent, _, silent_workers = start(start_host, reaper, jars, "nothing", 1)
    untimed, _, untimed_workers = start(start_host, reaper, jars, "untimed", 1)
    busy.jar("begin elsewhere")
    others = ((busy, busy_workers), (stopped, stopped_workers), (silent, silent_workers),
              (untimed, untimed_workers))
    for host, workers in ((idle, [leaked, moved]), *others):
        end_all(host, workers)
    time.sleep(5)
    stopped.pinned.signal(19)  # SIGSTOP
    time.sleep(4)
    assert moved.serves(), "so soon after its task the byte is still that one's"
    born = daemon.open()
    time.sleep(24)
    stopped.pinned.signal(18)  # SIGCONT
    wait_due(reaper, idle, leaked, QUIET_S)
    sweep_ends(reaper, idle, [leaked], {moved: "idle", born: "idle"})
    for host, (worker,) in others:
        sweep_ends(reaper, host, [], {worker: "idle"})


# ---- logs that we write: last, so that the workers have grown old meanwhile ---------------


def write_log(reaper: Reaper, name: str, past: PastLog) -> None:
    (reaper.marker_dir / name).write_text(past.text)


def test_declared_but_a_late_byte(reaper: Reaper, old: OldWorkers) -> None:
    """It came long after the last task: a task was not told of."""
    time.sleep(max(0, 16 - old.age_s()))
    leaked, _, moved = old.workers
    past = PastLog(old.host, "pool=none tasks=some", CLASS, 15)
    past.add(14, *tasks_that_ended([leaked, moved]))
    write_log(reaper, "host.log", past)
    assert moved.serves()
    result = reaper.audit_until_due(old.host, leaked)
    assert told(result, leaked) == DUE
    assert told(result, moved) == kept("idle")


def reported(old: OldWorkers, promise: str = "pool=reported",
             beats: tuple[float, ...] = (13.5, 13, 2), lost: int = 0) -> PastLog:
    """A host whose worker's task has ended 14 s ago, and which has listed nobody since."""
    past = PastLog(old.host, f"{promise} tasks=some", CLASS, 15)
    past.add(14, *tasks_that_ended(old.workers[:1]))
    for age_s in beats:
        past.since_beat += lost
        past.beat(age_s)
    return past


def test_reported_but_not_so(reaper: Reaper, old: OldWorkers) -> None:
    """Lists that are less than ten seconds apart, of which only one began after the end, of which
    records were lost, or that nobody promised."""
    time.sleep(max(0, 16 - old.age_s()))
    missing: list[dict[str, Any]] = [
        {"beats": (13.5, 13, 5)}, {"beats": (13.5, 2)}, {"lost": 1}, {"promise": "pool=unknown"}]
    found = []
    for what in missing:
        write_log(reaper, "host.log", reported(old, **what))
        found.append(told(reaper.audit(old.host), old.workers[0]))
    assert found == [kept("idle")] * len(missing)
    write_log(reaper, "host.log", reported(old))
    result = reaper.audit_until_due(old.host, old.workers[0])
    assert told(result, old.workers[0]) == DUE


def test_host_idle_but_no_beat_follows(reaper: Reaper, old: OldWorkers) -> None:
    """Its log of another class shows that it runs on; but this one may be one that it cannot write."""
    time.sleep(max(0, GROWN_S - old.age_s()))
    past = PastLog(old.host, "pool=unknown tasks=all pool_timeout=1000", CLASS, 44)
    past.add(43.9, *tasks_that_ended(old.workers[:1]))
    runs = PastLog(old.host, "pool=unknown tasks=some", "pyspark", 44)
    for age_s in (33, 22, 11):
        past.beat(age_s)
        runs.beat(age_s)
    runs.beat(1)
    write_log(reaper, "other.log", runs)
    write_log(reaper, "host.log", past)
    assert told(reaper.audit(old.host), old.workers[0]) == kept("idle")
    past.beat(1)
    write_log(reaper, "host.log", past)
    result = reaper.audit_until_due(old.host, old.workers[0])
    assert told(result, old.workers[0]) == DUE
