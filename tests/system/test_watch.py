# SPDX-License-Identifier: Apache-2.0
"""`reaper watch` as a sidecar: what it tells its service manager, what it ends, how it leaves."""

from __future__ import annotations

import os
import pathlib
import shutil
import signal
import time

import pytest

from harness import procs
from harness.binary import Reaper
from harness.minihost import Daemon, MiniHost, StartHost
from harness.privilege import lost_signals, needs_root, needs_strace

EVERY_SECOND = {"reaper.interval": "1s"}
LAST_PID = pathlib.Path("/proc/sys/kernel/ns_last_pid")
SAME_PID_TRIES = 40
LEAKS = 20  # of which some are gone as soon as they are told to


@pytest.fixture
def daemon(host: MiniHost) -> Daemon:
    return host.daemon()


def test_life(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """READY when it works, STATUS while it does, STOPPING at the end; SIGTERM ends it at once."""
    daemon.open()
    with reaper.watch(host, EVERY_SECOND) as watch:
        watch.until_notified("READY=1")
        watch.until_notified("STATUS=")
        rc, took_s = watch.stop()
        assert rc == 0 and took_s < 1
        assert "STOPPING=1" in watch.receive()
        events = [e["event"] for e in watch.events()]
        assert events[0] == "start" and events[-1] == "stop"
        assert all(e["schema"] == "reaper/1" and e["time"] for e in watch.events())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stop(reaper: Reaper, host: MiniHost, daemon: Daemon, number: int) -> None:
    """Both ways to ask are obeyed, also while it waits for its next sweep."""
    with reaper.watch(host, {"reaper.interval": "1h"}) as watch:
        watch.until_notified("READY=1")
        time.sleep(0.5)
        rc, took_s = watch.stop(number)
        assert rc == 0 and took_s < 1


def test_leak_ends(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """A leak that appears while it watches is ended, its neighbours are not."""
    pooled = daemon.open()
    with reaper.watch(host, EVERY_SECOND) as watch:
        watch.until_notified("READY=1")
        leak, = daemon.leak()
        event = watch.until_event(event="action", pid=leak.pid)
        assert event["outcome"] == "exited" and leak.pinned.has_ended(1)
        assert pooled.serves()
        procs.until("both records", lambda: len(reaper.audit_records()) >= 2)
        assert [r["record"] for r in reaper.audit_records()] == ["intent", "outcome"]


@pytest.mark.parametrize("where", ["tcp", "unix"])
def test_undated_fences(reaper: Reaper, host: MiniHost, workdir: pathlib.Path,
                        where: str) -> None:
    """What the kernel does not date, watch dates itself."""
    daemon = host.daemon(where="tcp" if where == "tcp" else str(workdir / "daemon.sock"))
    worker = daemon.open()
    worker.task("poll 100000" if where == "tcp" else "poll")
    worker.close()
    with reaper.watch(host, EVERY_SECOND) as watch:
        watch.until_event(event="action", pid=worker.pid)
        assert worker.pinned.has_ended(1)


def test_leak_that_wakes(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """A loop of short polls is one long wait: the same call at every look."""
    worker = daemon.open()
    worker.task("poll-loop 100")
    worker.close()
    with reaper.watch(host, EVERY_SECOND) as watch:
        watch.until_event(event="action", pid=worker.pid, outcome="exited")
        assert worker.pinned.has_ended(1)


def test_orphan_whose_daemon_died(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """It saw the daemon's children: one that lost daemon and host is still known."""
    worker = daemon.open()
    worker.task("poll")
    other = host.daemon()
    keep_alive = other.open()
    with reaper.watch(host, EVERY_SECOND) as watch:
        watch.until_event(event="sweep")
        daemon.pinned.kill()
        time.sleep(1.5)
        assert worker.is_alive() and keep_alive.is_alive()
        host.kill()
        watch.until_event(event="action", pid=worker.pid, outcome="exited", timeout_s=20)
        assert worker.pinned.has_ended(1)
        assert watch.wait() == 0


def test_orphan_of_a_moment(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """Born, leaked and orphaned between two looks: it is in the group of a daemon that the last look saw below
    --host, and so it is that host's."""
    with reaper.watch(host, {"reaper.interval": "5s"}) as watch:
        watch.until_event(event="sweep")
        worker, = daemon.leak()
        daemon.pinned.kill()
        found = watch.until_event(event="verdict", pid=worker.pid, timeout_s=30)
        assert found["daemon"] == daemon.pid
        watch.until_event(event="action", pid=worker.pid, outcome="exited", timeout_s=30)
        assert worker.pinned.has_ended(1)


@needs_root
def test_lost_helper_whose_daemon_died(user_reaper: Reaper, user_host: MiniHost) -> None:
    """A fork that a worker left behind looks like a worker from then on. It was seen while its daemon lived."""
    daemon = user_host.daemon()
    worker = daemon.open()
    worker.task("helper then exit")
    worker.close()
    helper, = worker.helpers
    with user_reaper.watch(settings=EVERY_SECOND) as watch:
        assert watch.until_event(event="sweep")["summary"]["suspect"] == 1
        daemon.pinned.kill()
        leak, = user_host.daemon().leak()
        watch.until_event(event="action", pid=leak.pid, outcome="exited", timeout_s=20)
        time.sleep(3)  # it would have been due, too
        assert not helper.has_ended(0)
        assert not [e for e in watch.events() if e.get("pid") == helper.pid]
        sweeps = [e for e in watch.events() if e["event"] == "sweep"]
        assert sweeps[-1]["summary"]["suspect"] == 1, "it is shown as what it is"


@needs_root
def test_fork_of_an_orphan(user_reaper: Reaper, user_host: MiniHost) -> None:
    """The host uses a worker on whose daemon has died, and it forks: whatever comes then is no daemon's child."""
    daemon = user_host.daemon()
    worker = daemon.open()
    with user_reaper.watch(settings=EVERY_SECOND) as watch:
        watch.until_event(event="sweep")
        daemon.pinned.kill()
        other = user_host.daemon()
        leak, = other.leak()
        watch.until_event(event="action", pid=leak.pid, outcome="exited", timeout_s=20)
        worker.task("helper then exit")
        worker.close()
        helper, = worker.helpers
        leak, = other.leak()
        watch.until_event(event="action", pid=leak.pid, outcome="exited", timeout_s=20)
        time.sleep(3)  # it would have been due, too
        assert not helper.has_ended(0)
        assert not [e for e in watch.events() if e.get("pid") == helper.pid]


@needs_root
def test_orphan_after_a_reload(user_reaper: Reaper, user_host: MiniHost) -> None:
    """Nobody knows any more whose it was, and it is a worker all the same."""
    daemon = user_host.daemon()
    worker = daemon.open()
    with user_reaper.watch(settings=EVERY_SECOND) as watch:
        watch.until_event(event="sweep")
        daemon.pinned.kill()
        leak, = user_host.daemon().leak()
        watch.until_event(event="action", pid=leak.pid, outcome="exited", timeout_s=20)
        watch.pinned.signal(signal.SIGHUP)
        watch.until_event(event="reload")
        worker.task("poll")
        worker.close()
        watch.until_event(event="action", pid=worker.pid, outcome="exited", timeout_s=20)
        assert worker.pinned.has_ended(1)


def test_audit_log_that_cannot_be_opened_anew(reaper: Reaper, host: MiniHost,
                                              daemon: Daemon) -> None:
    """A log that went away takes no intent with it: nobody is ended until it is there again."""
    with reaper.watch(host, EVERY_SECOND) as watch:
        watch.until_event(event="sweep")
        folder = reaper.audit_log.parent
        shutil.rmtree(folder.rename(folder.with_name("gone")))  # at once: watch makes its log anew
        leak, = daemon.leak()
        watch.until_event(event="verdict", pid=leak.pid, verdict="reap")
        time.sleep(2.5)
        assert leak.is_alive()
        assert str(reaper.audit_log) in watch.errors()
        folder.mkdir(mode=0o750)
        watch.until_event(event="action", pid=leak.pid, outcome="exited")
        assert watch.stop()[0] == 0  # what it has told is written by then
    assert [r["record"] for r in reaper.audit_records()] == ["intent", "outcome"]


def test_only_changes_are_told(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """One line per decision that changed, not one per sweep."""
    pooled, worker = daemon.open(), daemon.open()
    with reaper.watch(host, {**EVERY_SECOND, "policy.timeout": "3s"}) as watch:
        watch.until_event(event="sweep")
        worker.task("poll")
        worker.close()
        watch.until_event(event="action", pid=worker.pid)
        told = [e for e in watch.events() if e["event"] == "verdict"]
    decisions = [(e["verdict"], e["reason"]) for e in told if e["pid"] == worker.pid]
    assert decisions[-2:] == [("keep", "waiting"), ("reap", "peer-closed")]
    assert len(decisions) == len(set(decisions))
    assert len([e for e in told if e["pid"] == pooled.pid]) <= 1


def test_why_is_told_first(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """The verdict comes before the action, however fast its worker is gone."""
    with reaper.watch(host, EVERY_SECOND) as watch:
        watch.until_event(event="sweep")
        leaks = daemon.leak(LEAKS)
        for leak in leaks:
            watch.until_event(event="action", pid=leak.pid, outcome="exited")
        for leak in leaks:
            told = [(e["event"], e.get("verdict")) for e in watch.events() if e.get("pid") == leak.pid]
            assert told.index(("verdict", "reap")) < told.index(("action", None)), told


def test_host_exits(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """A sidecar has nothing left to do when its JVM and the tree are gone: 0."""
    daemon.open()
    with reaper.watch(host, EVERY_SECOND) as watch:
        watch.until_event(event="sweep")
        host.kill()
        assert watch.wait() == 0
        assert watch.until_event(event="host-gone")
        assert watch.events()[-1]["event"] == "stop"


def test_one_of_two_hosts_exits(reaper: Reaper, start_host: StartHost) -> None:
    """The other one still needs it."""
    first, second = start_host(), start_host()
    first.daemon().open()
    daemon = second.daemon()
    with reaper.watch((first, second), EVERY_SECOND) as watch:
        watch.until_event(event="sweep")
        first.kill()
        watch.until_event(event="host-gone")
        leak, = daemon.leak()
        watch.until_event(event="action", pid=leak.pid)
        second.kill()
        assert watch.wait() == 0


def test_waits_for_a_host(user_reaper: Reaper, start_host: StartHost) -> None:
    """Without --host it may be started before the JVM is."""
    with user_reaper.watch((), EVERY_SECOND) as watch:
        watch.until_notified("READY=1")
        host = start_host(uid=user_reaper.uid)
        leak, = host.daemon().leak()
        watch.until_event(event="action", pid=leak.pid)
        host.kill()
        time.sleep(2.5)
        rc, _ = watch.stop()
        assert rc == 0


@needs_root
def test_replaced_by_the_same_pid(reaper: Reaper, start_host: StartHost) -> None:
    """Another JVM that gets the number of a dead one is not its successor."""
    host = start_host()
    host.daemon().open()
    with reaper.watch(host, EVERY_SECOND) as watch:
        watch.until_event(event="sweep")
        watch.pinned.signal(signal.SIGSTOP)
        pid = host.pid
        host.finish()
        # A dead daemon that init has not reaped yet still bears the number: as its session's.
        procs.until("a session without members",
                    lambda: all(pid not in (stat.pgrp, stat.session) for stat in procs.all_stats()), 60)
        successor = None
        for _ in range(SAME_PID_TRIES):
            LAST_PID.write_text(str(pid - 1))
            successor = start_host(fresh=True)
            if successor.pid == pid:
                break
            successor.finish()
            successor = None
        if successor is None:
            pytest.skip("the number was never free")
        leak, = successor.daemon().leak()
        reaper.wait_due(leak)  # whoever takes it for one of its host ends it at the next look
        watch.pinned.signal(signal.SIGCONT)
        assert watch.wait() == 0
        assert watch.until_event(event="host-gone")
        assert leak.is_alive()
    assert reaper.sweep(successor).expect(0).acted_on == {leak.pid}


def test_reload(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """SIGHUP takes new settings: RELOADING, READY, and they count."""
    reaper.settings.pop("policy.timeout")
    reaper.write_config("interval = 1s\n[policy]\ntimeout = 1h\n")
    leak, = daemon.leak()
    with reaper.watch(host) as watch:
        watch.until_event(event="sweep")
        time.sleep(2)
        assert leak.is_alive()
        reaper.write_config("interval = 1s\n[policy]\ntimeout = 1s\n")
        watch.pinned.signal(signal.SIGHUP)
        watch.until_notified("RELOADING=1")
        watch.until("a second READY", lambda: watch.receive().count("READY=1") == 2, 10)
        watch.until_event(event="reload")
        watch.until_event(event="action", pid=leak.pid)


@needs_strace
def test_reload_while_it_kills(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """SIGHUP during a grace: the settings change when the round is over, once."""
    leak, = daemon.leak()
    with reaper.watch(host, EVERY_SECOND, prefix=lost_signals("1")) as watch:
        procs.until("the intent", reaper.audit_records, 20)
        watch.pinned.signal(signal.SIGHUP)
        watch.until_event(event="action", pid=leak.pid, outcome="killed")
        watch.until_event(event="reload")
        time.sleep(2)  # two sweeps
        events = [e["event"] for e in watch.events() if e["event"] in ("action", "reload")]
        assert events == ["action", "reload"]
        assert watch.receive().count("READY=1") == 2


def test_bad_reload(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """A bad file keeps the old settings, all of them, and says so with file and line."""
    reaper.settings.pop("policy.timeout")
    reaper.write_config("interval = 1s\n[policy]\ntimeout = 2s\n")
    with reaper.watch(host) as watch:
        watch.until_event(event="sweep")
        reaper.write_config("interval = 1h\n[policy]\ntimeuot = 1s\n")
        watch.pinned.signal(signal.SIGHUP)
        watch.until("the refusal",
                    lambda: f"{reaper.config}:7" in watch.errors() + watch.out_path.read_text(), 10)
        watch.until("a second READY", lambda: watch.receive().count("READY=1") == 2, 10)
        leak, = daemon.leak()
        watch.until_event(event="action", pid=leak.pid)
        rc, took_s = watch.stop()
        assert rc == 0 and took_s < 1


def test_hup_storm(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """Signals come as they like: none of them ends it."""
    with reaper.watch(host, EVERY_SECOND) as watch:
        watch.until_notified("READY=1")
        deadline = time.monotonic() + 1
        while time.monotonic() < deadline:
            watch.pinned.signal(signal.SIGHUP)
        leak, = daemon.leak()
        watch.until_event(event="action", pid=leak.pid)


def test_watch_holds_the_lock(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """cron's sweep beside a sidecar: 4."""
    daemon.open()
    with reaper.watch(host, EVERY_SECOND) as watch:
        watch.until_notified("READY=1")
        reaper.run("sweep", host=host).expect(4)
        assert watch.stop()[0] == 0
    reaper.run("sweep", host=host).expect(0)


@needs_strace
def test_term_while_it_kills(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """SIGTERM during a long grace: gone in under a second, nothing half written."""
    leak, = daemon.leak()
    with reaper.watch(host, {**EVERY_SECOND, "policy.term_grace": "1m"},
                      prefix=lost_signals()) as watch:
        procs.until("the intent", reaper.audit_records, 20)
        rc, took_s = watch.stop()
        assert rc == 0 and took_s < 1
    assert reaper.audit_records()
    assert reaper.sweep(host).expect(0).acted_on == {leak.pid}


def test_log_rotation(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """The audit log moved away: the next intent goes into a new one."""
    with reaper.watch(host, EVERY_SECOND) as watch:
        first, = daemon.leak()
        watch.until_event(event="action", pid=first.pid)
        old = reaper.audit_log.with_suffix(".1")
        reaper.audit_log.rename(old)
        second, = daemon.leak()
        watch.until_event(event="action", pid=second.pid)
    assert len(old.read_text().splitlines()) == 2
    assert {r["pid"] for r in reaper.audit_records()} == {second.pid}


def test_metrics(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """A collector never reads half a file."""
    metrics = reaper.home / "reaper.prom"
    pooled, leak = daemon.open(), daemon.leak()[0]
    assert pooled.is_alive()
    with reaper.watch(host, {**EVERY_SECOND, "reaper.metrics_file": str(metrics)}) as watch:
        watch.until_event(event="action", pid=leak.pid)
        procs.until("metrics", lambda: metrics.exists() and "reaper_" in metrics.read_text())
        for line in metrics.read_text().splitlines():
            assert line.startswith("#") or len(line.rsplit(" ", 1)) == 2
        # It is written aside and renamed; what was aside may be there for a moment.
        procs.until("one file", lambda: ["reaper.prom"] == [
            p.name for p in metrics.parent.iterdir() if p.name.startswith("reaper.prom")])


def test_watchdog(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """WATCHDOG_USEC: it pats the dog more often than asked."""
    daemon.open()
    with reaper.watch(host, {"reaper.interval": "1h"}, env={"WATCHDOG_USEC": "2000000"}) as watch:
        watch.until_notified("READY=1")
        watch.until("two pats", lambda: watch.receive().count("WATCHDOG=1") >= 2, 8)


def test_stays_small(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """Descriptors do not grow with sweeps and churn."""
    with reaper.watch(host, EVERY_SECOND) as watch:
        watch.until_event(event="sweep")
        counts = []
        for _ in range(3):
            leak, = daemon.leak()
            watch.until_event(event="action", pid=leak.pid)
            counts.append(len(os.listdir(f"/proc/{watch.process.pid}/fd")))
        assert max(counts[1:]) <= counts[0]
