# SPDX-License-Identifier: Apache-2.0
"""Proofs that come with time or with a death: their age, and what stands against them."""

from __future__ import annotations

import os
import pathlib
import time

import pytest

from harness import procs
from harness.binary import Reaper
from harness.minihost import Daemon, MiniHost, Worker
from harness.privilege import needs_root

KEEP_IDLE = ("keep", "idle")
MIN_AGE_S = 1.1
CLOCK_MS = 300  # so old may be what reaper knows of a CPU's clock
# A fence without a date counts from the first look; a slow machine needs a second for both looks.
UNDATED = {"policy.timeout": "3s"}


@pytest.fixture(scope="module")
def daemon(module_host: MiniHost) -> Daemon:
    return module_host.daemon()


def grown(worker: Worker) -> None:
    """Let a worker get older than min_age, so that its youth hides no other reason."""
    assert worker.is_alive()
    time.sleep(MIN_AGE_S)


def seen_by_a_sweep(reaper: Reaper, worker: Worker) -> None:
    """Let a sweep note when it first saw a fence that the kernel does not date."""
    first = reaper.sweep(worker.host, settings={"policy.timeout": "1h"}).expect(0)
    assert first.verdict(worker) == ("keep", "waiting")
    assert 0 < first.worker(worker)["due_in_ms"] <= 3_600_000
    assert first.worker(worker)["fence_age_ms"] <= first.took_s * 1000
    assert worker.is_alive()


# ---- proofs from the kernel ----------------------------------------------------------------


def test_early_stop(reaper: Reaper, daemon: Daemon) -> None:
    """The common leak: the host hung up, the worker sits in poll for ever."""
    stolen, began = procs.stolen_ms(), time.monotonic()
    worker, = daemon.leak()
    closed = time.monotonic()
    reaper.audit_until_due(daemon.host, worker)
    asked = time.monotonic()
    result = reaper.audit(daemon.host).expect(1)
    least, most = 1000 * (asked - closed), 1000 * (time.monotonic() - began)
    stolen = procs.stolen_ms() - stolen
    assert result.verdict(worker) == ("reap", "peer-closed")
    entry = result.worker(worker)
    assert entry["fence"] == "peer-closed" and entry["socket"] == "peer-closed"
    assert entry["blocked_in"] == "poll" and entry["wait_forever"] is True
    assert least - 50 <= entry["fence_age_ms"] <= most + 50
    assert least - CLOCK_MS - stolen <= entry["blocked_ms"] <= most + 50


def test_fence_age_at_the_first_look(reaper: Reaper, daemon: Daemon) -> None:
    """The kernel dates a hang-up: no history is needed to know how long ago it was."""
    stolen, began = procs.stolen_ms(), time.monotonic()
    worker, = daemon.leak()
    time.sleep(3)
    entry = reaper.audit(daemon.host).worker(worker)
    most = 1000 * (time.monotonic() - began)
    stolen = procs.stolen_ms() - stolen
    assert 3000 <= entry["fence_age_ms"] <= most + 50
    assert 3000 - CLOCK_MS - stolen <= entry["blocked_ms"] <= most + 50


def test_not_yet_due(reaper: Reaper, daemon: Daemon) -> None:
    """A fence starts a clock; until `timeout` the worker stays."""
    worker, = daemon.leak()
    grown(worker)
    result = reaper.audit(daemon.host, settings={"policy.timeout": "10m"})
    assert result.verdict(worker) == ("keep", "waiting")
    assert 590_000 < result.worker(worker)["due_in_ms"] <= 600_000


@pytest.mark.parametrize("wait", ["poll-loop 200", "waking-thread 200 then futex"])
def test_leak_that_wakes(reaper: Reaper, host: MiniHost, wait: str) -> None:
    """zmq and gRPC threads wake for ever; a worker of theirs is still a leak."""
    daemon = host.daemon()
    worker = daemon.open()
    worker.task(wait)
    worker.close()
    time.sleep(1.2)

    def ended() -> bool:
        reaper.sweep(host)
        return worker.pinned.has_ended(0.3)

    procs.until("the end of a leak that wakes", ended, 20)


def test_work_between_two_sweeps(reaper: Reaper, host: MiniHost, workdir: pathlib.Path) -> None:
    """Both saw it in one same wait, but it has computed in between: it is not blocked since the first."""
    work = workdir / "work"
    worker = host.daemon().open()
    worker.task(f"poll-or-work {work}")
    worker.close()
    time.sleep(1.2)
    settings = {"policy.timeout": "3s"}
    result = reaper.sweep(host, settings=settings)
    assert result.verdict(worker)[0] == "keep"
    work.touch()
    time.sleep(4)
    work.unlink()
    time.sleep(0.2)
    result = reaper.sweep(host, settings=settings)
    assert result.verdict(worker)[0] == "keep", result
    assert worker.is_alive()

    def ended() -> bool:
        reaper.sweep(host, settings=settings)
        return worker.pinned.has_ended(0.3)

    procs.until("the end of a leak that wakes", ended, 20)


def test_reset(reaper: Reaper, host: MiniHost) -> None:
    """The host closed with bytes unread: the socket is in no table, and that is the proof."""
    daemon = host.daemon()
    worker = daemon.open()
    worker.task("poll 200000")
    worker.close()
    assert reaper.audit(host).worker(worker)["socket"] == "gone"
    grown(worker)
    seen_by_a_sweep(reaper, worker)
    result = reaper.audit_until_due(host, worker, settings=UNDATED)
    assert result.verdict(worker) == ("reap", "peer-closed")
    assert result.worker(worker)["socket"] == "gone"
    reaper.sweep(host, settings=UNDATED).expect(0)
    assert worker.pinned.has_ended()


def test_full_window(reaper: Reaper, host: MiniHost) -> None:
    """The host closed while the worker's receive buffer was full: ESTABLISHED for ever, and due."""
    daemon = host.daemon()
    worker = daemon.open()
    worker.task("poll")
    worker.fill()
    worker.close()
    grown(worker)
    seen_by_a_sweep(reaper, worker)
    result = reaper.audit_until_due(host, worker, settings=UNDATED)
    assert result.verdict(worker) == ("reap", "peer-closed")


def test_signed_off_before_the_input_ended(reaper: Reaper, host: MiniHost) -> None:
    """A write to a dead worker fails its task: while a thread of the host may write, it stays."""
    before = host.daemon().open()
    before.task("signoff")
    grown(before)
    time.sleep(4)  # when it last ran is known less well while processor time is stolen
    worker = host.daemon().open()
    host.command("writer")
    worker.task("signoff")
    grown(worker)
    reaper.audit_until_due(host, before)
    result = reaper.audit(host)
    assert result.verdict(before) == ("reap", "signed-off"), "that thread is not for it"
    assert result.verdict(worker) == ("keep", "unread-bytes")
    assert "thread of its host" in result.worker(worker)["why"]
    assert reaper.sweep(host).expect(0).acted_on == {before.pid}
    host.command("writers-end")
    assert reaper.audit_until_due(host, worker).verdict(worker) == ("reap", "signed-off")
    assert reaper.sweep(host).expect(0).acted_on == {worker.pid}


# ---- daemons and hosts that die ------------------------------------------------------------


def test_daemon_killed_pooled_worker(reaper: Reaper, host: MiniHost) -> None:
    """ppid 1 says nothing: the pool goes on using workers whose daemon died."""
    daemon = host.daemon()
    worker = daemon.open()
    other = host.daemon()
    daemon.pinned.kill()
    result = reaper.judge(other)
    assert result.verdict(worker) == KEEP_IDLE
    reaper.sweep(host).expect(0)
    assert worker.serves()


@needs_root
def test_daemon_killed_leaked_worker(user_reaper: Reaper, user_host: MiniHost) -> None:
    """An orphan whose host hung up is a leak like any other."""
    daemon = user_host.daemon()
    worker, = daemon.leak()
    pooled = daemon.open()
    daemon.pinned.kill()
    result = user_reaper.audit_until_due((), worker)
    assert result.verdict(worker) == ("reap", "peer-closed")
    assert result.verdict(pooled) == KEEP_IDLE
    assert user_reaper.sweep().expect(0).acted_on == {worker.pid}
    assert pooled.serves()


@needs_root
def test_daemon_and_host_killed(user_reaper: Reaper, user_host: MiniHost) -> None:
    """The one true orphan: no daemon sent it the HUP, no host will ever ask for it."""
    daemon = user_host.daemon()
    worker = daemon.open()
    worker.task("poll")
    idle = daemon.open()
    daemon.pinned.kill()
    user_host.kill()
    procs.until("the idle orphan's exit", lambda: idle.pinned.has_ended(1))
    slow = {"policy.timeout": "4s"}
    grown(worker)
    first = user_reaper.sweep(settings={"policy.timeout": "1h"}).expect(0)
    assert first.verdict(worker) == ("keep", "waiting")
    # the hang-up is older than the first sight of the dead host, and due before it
    procs.until("host-gone", lambda: user_reaper.audit(settings=slow).verdict(worker)
                == ("reap", "host-gone"))
    assert user_reaper.sweep(settings=slow).expect(0).acted_on == {worker.pid}


@needs_root
def test_orphan_of_a_reaped_host(user_reaper: Reaper, user_host: MiniHost) -> None:
    """The same when the dead host is not even a zombie any more."""
    daemon = user_host.daemon()
    worker = daemon.open()
    worker.task("poll")
    daemon.pinned.kill()
    user_host.kill()
    user_host.wait()
    assert user_reaper.audit_until_due((), worker).verdict(worker)[0] == "reap"


# ---- helpers -------------------------------------------------------------------------------


def test_helper_that_shares_the_socket(reaper: Reaper, host: MiniHost) -> None:
    """A forked helper looks like a worker; only its parent tells them apart."""
    daemon = host.daemon()
    worker = daemon.open()
    worker.task("helper then poll")
    worker.close()
    result = reaper.audit_until_due(host, worker)
    assert result.verdict(worker) == ("reap", "peer-closed")
    helper, = worker.helpers
    entry = result.worker(helper)
    assert entry["role"] == "helper" and entry["helper_of"] == worker.pid
    assert result.doc["summary"]["workers"] == result.doc["summary"]["reap"] == 1
    reaper.sweep(host).expect(0)
    assert worker.pinned.has_ended() and helper.has_ended(1)


def test_lost_helper(reaper: Reaper, host: MiniHost) -> None:
    """A helper whose worker left belongs to nobody: it is reported and left alone."""
    daemon = host.daemon()
    worker = daemon.open()
    worker.task("helper then exit")
    worker.close()
    helper, = worker.helpers
    result = reaper.judge(daemon)
    assert result.verdict(helper) == ("suspect", "lost-helper")
    assert result.worker(helper)["role"] == "lost-helper"
    reaper.sweep(host).expect(0)
    assert not helper.has_ended(0.5)


# ---- other transports ----------------------------------------------------------------------


def test_ipv6(reaper: Reaper, module_host: MiniHost) -> None:
    """Loopback may be ::1."""
    daemon = module_host.daemon(where="tcp6")
    pooled = daemon.open()
    worker, = daemon.leak()
    result = reaper.audit_until_due(module_host, worker)
    assert result.verdict(worker) == ("reap", "peer-closed")
    assert result.verdict(pooled) == KEEP_IDLE
    assert result.worker(worker)["transport"] == "tcp"


def test_unix(reaper: Reaper, host: MiniHost, workdir: pathlib.Path) -> None:
    """Unix sockets show a hang-up by the peer's inode alone, and not when it was."""
    daemon = host.daemon(where=str(workdir / "daemon.sock"))
    pooled = daemon.open()
    worker, = daemon.leak()
    assert reaper.audit(host).worker(worker)["transport"] == "unix"
    grown(worker)
    seen_by_a_sweep(reaper, worker)
    result = reaper.audit_until_due(host, worker, settings=UNDATED)
    assert result.verdict(worker) == ("reap", "peer-closed")
    assert result.verdict(pooled) == KEEP_IDLE
    assert reaper.sweep(host, settings=UNDATED).expect(0).acted_on == {worker.pid}
    assert pooled.serves()


# ---- guards --------------------------------------------------------------------------------


def test_too_young(reaper: Reaper, daemon: Daemon) -> None:
    """A newborn still has its daemon's signal handler."""
    worker, = daemon.leak()
    settings = {"policy.min_age": "1d"}
    time.sleep(1.2)
    assert reaper.audit(daemon.host, settings=settings).verdict(worker) == ("keep", "too-young")


def test_fence_off(reaper: Reaper, daemon: Daemon) -> None:
    """The operator says which proofs may kill."""
    worker, = daemon.leak()
    time.sleep(1.2)
    settings = {"policy.fences": "signed-off retired"}
    result = reaper.audit(daemon.host, settings=settings)
    assert result.verdict(worker) == ("keep", "fence-off")


def test_protected(reaper: Reaper, daemon: Daemon) -> None:
    """A protect rule keeps what it names, whatever is proven: worker, daemon or host."""
    worker, = daemon.leak()
    reaper.audit_until_due(daemon.host, worker)
    for rule in ("comm = python3", "comm = java", "args = pyspark.daemon", f"user = {os.getuid()}"):
        reaper.write_config(f"[protect]\n{rule}\n")
        result = reaper.audit(daemon.host)
        assert result.verdict(worker) == ("keep", "protected"), rule
    reaper.write_config("[protect]\ncomm = another\n")
    assert reaper.audit(daemon.host).verdict(worker) == ("reap", "peer-closed")
