# SPDX-License-Identifier: Apache-2.0
"""A JVM that tells of itself by reaper-markers.jar: `task-ended` in each of its three ways, and with
one of its conditions missing."""

from __future__ import annotations

import pathlib
import time

from harness.binary import Reaper
from harness.minihost import Daemon, MiniHost, StartHost, Worker
from harness.procs import until

CLASS = "pyjava"  # which leaves pool_timeout to the log
DUE = ("reap", "task-ended")
KEEP = {("keep", "idle"), ("keep", "serving"), ("keep", "pooled"), ("keep", "leased")}
BEATS_S = 25  # two lists ten seconds apart, both begun later than all that is told
QUIET_S = 60  # pool_timeout (1 s), 40 s, and the beat that follows


def start(start_host: StartHost, reaper: Reaper, jars: pathlib.Path, promise: str,
          count: int) -> tuple[MiniHost, Daemon, list[Worker]]:
    """A host with that promise, and workers each of which has served one task."""
    host = start_host(fresh=True, jars=jars)
    host.jar(f"open {reaper.marker_dir} {CLASS} {promise}")
    daemon = host.daemon(f"{CLASS}.daemon")
    workers = [daemon.open() for _ in range(count)]
    for worker in workers:
        host.jar(f"begin t{worker.index} {worker.index}")
    # A binding by ports counts once a look has seen the connection.
    reaper.audit(host)
    return host, daemon, workers


def end_all(host: MiniHost, workers: list[Worker]) -> None:
    for worker in workers:
        host.jar(f"end t{worker.index}")


def sweep_ends(reaper: Reaper, host: MiniHost, due: list[Worker], others: list[Worker]) -> None:
    """All of `due`, with that proof, and none of the others."""
    result = reaper.audit(host)
    assert {result.verdict(worker) for worker in due} <= {DUE}, result
    assert {result.verdict(worker) for worker in others} <= KEEP, result
    swept = reaper.sweep(host).expect(0)
    assert swept.acted_on == {worker.pid for worker in due}
    assert all(worker.serves() for worker in others)


def wait_due(reaper: Reaper, host: MiniHost, worker: Worker, seconds: float) -> None:
    def is_due() -> bool:
        time.sleep(0.5)
        return reaper.audit(host).verdict(worker) == DUE

    until(f"{worker.pid} is due", is_due, seconds)


def test_declared(reaper: Reaper, start_host: StartHost, jars: pathlib.Path) -> None:
    """It never reuses a worker: one whose task has ended is given up, one that serves is not."""
    host, _, (leaked, serving, bound_twice) = start(start_host, reaper, jars, "none", 3)
    host.jar(f"begin again {bound_twice.index}")
    reaper.audit(host)
    end_all(host, [leaked, bound_twice])
    unbound = host.daemons[0].open()
    wait_due(reaper, host, leaked, 15)
    sweep_ends(reaper, host, [leaked], [serving, bound_twice, unbound])


def test_reported(reaper: Reaper, start_host: StartHost, jars: pathlib.Path) -> None:
    """Two lists of its pool and its leases without a worker whose task has ended."""
    host, _, workers = start(start_host, reaper, jars, "reported", 5)
    leaked, pooled, given_up, leased, serving = workers
    host.jar(f"pool {pooled.index}")
    host.jar(f"pool {given_up.index}")
    host.jar(f"lease {leased.index} other")
    end_all(host, [leaked, pooled, given_up, leased])
    assert reaper.audit(host).verdict(leaked) in KEEP, "no list has followed yet"
    wait_due(reaper, host, leaked, BEATS_S)
    late = host.daemons[0].open()
    assert reaper.audit(host).verdict(given_up) == ("keep", "pooled")
    sweep_ends(reaper, host, [leaked], [pooled, leased, serving, late])
    for worker in (pooled, given_up):
        host.jar(f"drop {worker.index}")
    wait_due(reaper, host, given_up, BEATS_S)
    verdict = reaper.audit(host).verdict(pooled)
    assert verdict in KEEP, "it moved a byte long after its last task: a task was not told of"


def test_host_idle(reaper: Reaper, start_host: StartHost, jars: pathlib.Path) -> None:
    """It tells of every task and runs none for longer than its pool lives; of two others one runs
    a task all the time, and one was stopped for a while."""
    idle, _, (leaked,) = start(start_host, reaper, jars, "all", 1)
    busy, _, (kept,) = start(start_host, reaper, jars, "all", 1)
    stopped, _, (held,) = start(start_host, reaper, jars, "all", 1)
    busy.jar("begin elsewhere")
    for host, worker in ((idle, leaked), (busy, kept), (stopped, held)):
        end_all(host, [worker])
    time.sleep(5)
    stopped.pinned.signal(19)  # SIGSTOP
    time.sleep(28)
    stopped.pinned.signal(18)  # SIGCONT
    wait_due(reaper, idle, leaked, QUIET_S)
    sweep_ends(reaper, busy, [], [kept])
    sweep_ends(reaper, stopped, [], [held])
    sweep_ends(reaper, idle, [leaked], [])
