# SPDX-License-Identifier: Apache-2.0
"""Numbers that are given away again: a worker's, its daemon's, its host's."""

from __future__ import annotations

import itertools
import pathlib
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from harness import procs
from harness.binary import DUE_S, Reaper
from harness.markers import host_record
from harness.minihost import MiniHost, StartHost
from harness.privilege import needs_root

LAST_PID = pathlib.Path("/proc/sys/kernel/ns_last_pid")
TRIES = 20  # others are born meanwhile
DEAD = 5  # numbers to try: a thread of somebody else may get one first, and keep it
FREE_S = 60
REFUSALS = 5

pytestmark = needs_root


def born_as(number: int, birth: Callable[[], Any], tries: int, end: Callable[[Any], None]) -> Any:
    """What is born with that number; None if nothing ever is."""
    for _ in range(tries):
        LAST_PID.write_text(str(number - 1))
        born = birth()
        if born.pid == number:
            return born
        end(born)
    return None


def heir_of(death: Callable[[], int], birth: Callable[[], Any], end: Callable[[Any], None]) -> Any:
    """What is born with the number of somebody who has died."""
    for _ in range(DEAD):
        born = born_as(death(), birth, TRIES, end)
        if born is not None:
            return born
    raise AssertionError(f"others kept the numbers of {DEAD} dead")


def is_free(number: int) -> bool:
    """The kernel keeps the number of a session or a group, too."""
    return not any(number in (stat.pid, stat.pgrp, stat.session) for stat in procs.all_stats())


def start_sleep() -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sleep", "1000"])


def end_sleep(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def dead_host(hosts: pathlib.Path, workdir: pathlib.Path, log: pathlib.Path) -> int:
    """The number of a JVM that promised never to use a worker twice, and has died."""
    host = MiniHost(hosts, workdir, marker_log=log)
    try:
        host.marker(host_record(host, "pool=none tasks=some"))
        worker = host.daemon().open()
        host.marker(f"begin task=1 worker={worker.identity}")
        host.marker("end task=1 outcome=ok")
    finally:
        host.finish()
    # Its zombies are in its session, and init takes its time.
    procs.until("its number is free", lambda: is_free(host.pid), FREE_S)
    return host.pid


@pytest.fixture
def heir(reaper: Reaper, hosts: pathlib.Path, workdir: pathlib.Path) -> Iterator[MiniHost]:
    """A JVM with the number of a dead one."""
    turn = itertools.count()
    host = heir_of(
        lambda: dead_host(hosts, workdir, reaper.marker_dir / f"dead-{next(turn)}.log"),
        lambda: MiniHost(hosts, workdir, marker_log=reaper.marker_dir / "heir.log"),
        MiniHost.finish)
    yield host
    host.finish()


def test_number_of_a_dead_host(reaper: Reaper, heir: MiniHost) -> None:
    """What the dead one promised binds nobody, whatever its heir calls its tasks."""
    heir.marker(host_record(heir, "pool=unknown tasks=some"))
    worker = heir.daemon().open()
    heir.marker(f"begin task=1 worker={worker.identity}")
    worker.task("sleep")
    heir.marker("end task=1 outcome=ok")
    time.sleep(DUE_S)
    result = reaper.sweep(heir)
    assert result.verdict(worker)[0] != "reap", result
    assert result.worker(worker)["host"] == heir.pid
    assert worker.is_alive()
    heir.marker(f"retired worker={worker.identity}")
    result = reaper.audit_until_due(heir, worker)
    assert result.verdict(worker) == ("reap", "retired"), "the control: the heir's word counts"


def test_number_of_a_retired_worker(reaper: Reaper, start_host: StartHost) -> None:
    """Its host gave up who had that number before."""
    host = start_host(marker_log=reaper.marker_dir / "host.log")
    host.marker(host_record(host, "pool=unknown tasks=some"))
    daemon = host.daemon()
    identities = []

    def retire() -> int:
        retired = daemon.open()
        identities.append(retired.identity)
        host.marker(f"retired worker={retired.identity}")
        retired.close()
        procs.until("its end", lambda: is_free(retired.pid))
        return retired.pid

    worker = heir_of(retire, daemon.open, lambda other: other.close())
    assert worker.identity not in identities
    time.sleep(DUE_S)
    result = reaper.sweep(host).expect(0)
    assert result.verdict(worker) == ("keep", "idle"), result
    assert worker.serves()
    host.marker(f"retired worker={worker.identity}")
    result = reaper.audit_until_due(host, worker)
    assert result.verdict(worker) == ("reap", "retired"), "the control: by its start it is named"


def test_number_of_a_dead_daemon(reaper: Reaper, host: MiniHost) -> None:
    """The kernel keeps it while a worker is in the daemon's group; then a stranger gets it."""
    other = host.daemon()
    pooled = other.open()

    def dead_daemon() -> int:
        daemon = host.daemon()
        orphan = daemon.open()
        daemon.pinned.kill()
        procs.until("the daemon's end", lambda: procs.stat(daemon.pid) is None)
        assert born_as(daemon.pid, start_sleep, REFUSALS, end_sleep) is None
        orphan.close()
        procs.until("its number is free", lambda: is_free(daemon.pid), FREE_S)
        return daemon.pid

    stranger = heir_of(dead_daemon, start_sleep, end_sleep)
    try:
        leak, = other.leak()
        result = reaper.audit_until_due(host, leak)
        assert result.verdict(pooled) == ("keep", "idle"), result
        reaper.sweep(host).expect(0)
        assert not leak.is_alive() and pooled.serves() and stranger.poll() is None
    finally:
        end_sleep(stranger)
