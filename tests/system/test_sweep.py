# SPDX-License-Identifier: Apache-2.0
"""What a sweep ends, how, in which order and how much; and what it leaves alone."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pathlib
import signal
import subprocess
import time
from collections.abc import Iterator

import pytest

from harness import procs
from harness.binary import Reaper
from harness.minihost import Daemon, MiniHost, Worker
from harness.privilege import (
    FREEZER,
    lost_signals,
    needs_freezer,
    needs_root,
    needs_strace,
)

CROWD = 200
CROWD_LIMITS = {"policy.max_kills_per_sweep": "1000", "policy.max_kills_per_hour": "1000"}
SHORT = {"policy.term_grace": "1s", "policy.kill_grace": "1s"}


@pytest.fixture
def daemon(host: MiniHost) -> Daemon:
    return host.daemon()


def intents(reaper: Reaper) -> list[int]:
    """Whom the audit log says it was about to end, once per record."""
    return sorted(r["pid"] for r in reaper.audit_records() if r["record"] == "intent")


def outcomes(reaper: Reaper) -> list[int]:
    """Of whom it tells an outcome."""
    return sorted(r["pid"] for r in reaper.audit_records() if r["record"] == "outcome")


# ---- exactly the due ones ------------------------------------------------------------------


def test_only_the_due_end(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """A sweep in a mixed crowd: the leaks go, every neighbour lives and serves."""
    pooled, busy, asleep, slow, signed_off = (daemon.open() for _ in range(5))
    busy.task("cpu")
    asleep.task("sleep")
    slow.task("bigwrite 30000000")
    signed_off.task("signoff 300000")
    leaks = daemon.leak(3)
    reaper.wait_due(*leaks)
    result = reaper.sweep(host).expect(0)
    assert result.acted_on == {leak.pid for leak in leaks}
    assert all(leak.pinned.has_ended() for leak in leaks)
    assert all(w.is_alive() for w in (pooled, busy, asleep, slow, signed_off))
    assert not daemon.pinned.has_ended() and not host.pinned.has_ended()
    slow.read(30_000_000)
    assert pooled.serves() and slow.serves()
    signed_off.read(300_000)


def test_nothing_left_to_do(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """The second sweep finds nothing, says nothing and ends with 0."""
    leak, = daemon.leak()
    reaper.wait_due(leak)
    first = reaper.run("sweep", host=host).expect(0)
    assert str(leak.pid) in first.out
    second = reaper.run("sweep", host=host).expect(0)
    assert second.out == "" and second.err == ""
    assert reaper.sweep(host).doc["actions"] == []


def test_audit_says_what_a_sweep_would_end(reaper: Reaper, host: MiniHost,
                                           daemon: Daemon) -> None:
    """audit and a dry sweep: 1 while something is due, and it is still there."""
    leak, = daemon.leak()
    reaper.wait_due(leak)
    reaper.audit(host).expect(1)
    reaper.run("--json", "-n", "sweep", host=host).expect(1)
    assert leak.is_alive()
    reaper.sweep(host).expect(0)
    reaper.audit(host).expect(0)


def test_action_and_audit_log(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """One intent before and one outcome after, with the facts of that very process."""
    leak = daemon.open()
    leak.task("memory 40 then poll")
    leak.close()
    reaper.wait_due(leak)
    action = reaper.sweep(host).expect(0).action(leak)
    assert action["start"] == leak.start
    assert action["signal"] == signal.SIGTERM and action["outcome"] == "exited"
    assert action["freed_bytes"] > 40 << 20 and action["took_ms"] < 2000
    first, second = reaper.audit_records()
    assert (first["record"], second["record"]) == ("intent", "outcome")
    for record in (first, second):
        assert (record["pid"], record["start"]) == (leak.pid, leak.start)
    assert first["reason"] == "peer-closed" and first["facts"] and first["policy"]
    assert second["outcome"] == "exited"


def test_host_limits_the_sweep(reaper: Reaper, host: MiniHost, daemon: Daemon,
                               start_host: object) -> None:
    """--host: another JVM's leak is not this sweep's."""
    other = start_host()  # type: ignore[operator]
    theirs, = other.daemon().leak()
    ours, = daemon.leak()
    reaper.wait_due(ours, theirs)
    assert reaper.sweep(host).expect(0).acted_on == {ours.pid}
    assert theirs.is_alive()
    assert reaper.sweep((host, other)).expect(0).acted_on == {theirs.pid}


# ---- how one is ended ----------------------------------------------------------------------


def test_ignored_term(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """SIGTERM would be wasted on a worker that ignores it: SIGKILL."""
    worker = daemon.open()
    worker.task("ignore-term then poll")
    worker.close()
    reaper.wait_due(worker)
    action = reaper.sweep(host).expect(0).action(worker)
    assert action["signal"] == signal.SIGKILL and action["outcome"] == "killed"
    assert action["took_ms"] < 4000


def test_blocked_term(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """The same where it blocks it."""
    worker = daemon.open()
    worker.task("block-term then poll")
    worker.close()
    reaper.wait_due(worker)
    action = reaper.sweep(host).expect(0).action(worker)
    assert action["signal"] == signal.SIGKILL and action["outcome"] == "killed"


def test_caught_term(reaper: Reaper, host: MiniHost, daemon: Daemon,
                     workdir: pathlib.Path) -> None:
    """A handler may be the daemon's, which ends the whole pool: it must never run."""
    worker = daemon.open()
    heard = workdir / "heard"
    worker.task(f"catch-term {heard} then poll")
    worker.close()
    reaper.wait_due(worker)
    action = reaper.sweep(host, settings={"policy.term_grace": "30s"}).expect(0).action(worker)
    assert action["signal"] == signal.SIGKILL and action["outcome"] == "killed"
    assert action["took_ms"] < 2000
    assert not heard.exists()


def test_helper_that_catches_term(reaper: Reaper, host: MiniHost, daemon: Daemon,
                                  workdir: pathlib.Path) -> None:
    """Its handler may end its process group, which is the whole pool (`trap 'kill 0' TERM`)."""
    worker = daemon.open()
    heard = workdir / "heard"
    worker.task(f"catch-term {heard} then helper then poll")
    worker.close()
    reaper.wait_due(worker)
    reaper.sweep(host, settings={"policy.term_grace": "30s"}).expect(0)
    assert worker.pinned.has_ended() and worker.helpers[0].has_ended()
    assert not heard.exists()
    signals = {r["pid"]: r["signal"] for r in reaper.audit_records() if r["record"] == "intent"}
    assert signals == {worker.pid: signal.SIGKILL, worker.helpers[0].pid: signal.SIGKILL}


def test_helper_in_a_session_of_its_own(reaper: Reaper, host: MiniHost, daemon: Daemon,
                                        workdir: pathlib.Path) -> None:
    """Its handler is its own: it may clean up."""
    worker = daemon.open()
    heard = workdir / "heard"
    worker.task(f"session-trap {heard} then poll")
    worker.close()
    reaper.wait_due(worker)
    reaper.sweep(host).expect(0)
    assert worker.pinned.has_ended() and worker.helpers[0].has_ended()
    assert heard.exists()


@needs_strace
def test_term_then_kill(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """SIGTERM that does not help is followed by SIGKILL after term_grace, not before."""
    leaks = daemon.leak(2)
    reaper.wait_due(*leaks)
    result = reaper.sweep(host, prefix=lost_signals("1..2"), settings=SHORT).expect(0)
    for leak in leaks:
        action = result.action(leak)
        assert action["signal"] == signal.SIGKILL and action["outcome"] == "killed"
        assert 1000 <= action["took_ms"] < 3000


@needs_strace
def test_unkillable(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """Gone is what the kernel says is gone; a worker that stays is told, and 1 is the status."""
    leak, = daemon.leak()
    reaper.wait_due(leak)
    result = reaper.sweep(host, prefix=lost_signals(), settings=SHORT).expect(1)
    action = result.action(leak)
    assert action["outcome"] == "unkillable" and action["freed_bytes"] is None
    assert "poll" in action["why"]
    assert 2000 <= action["took_ms"] < 6000
    assert leak.is_alive()
    assert outcomes(reaper) == [leak.pid]


def test_helpers_go_with_their_worker(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """Forked and exec'ed descendants are the worker's own."""
    worker = daemon.open()
    worker.task("helper then subprocess then session-subprocess then bigargs then poll")
    worker.close()
    reaper.wait_due(worker)
    reaper.sweep(host).expect(0)
    assert worker.pinned.has_ended()
    assert all(helper.has_ended(1) for helper in worker.helpers)


def test_helpers_no(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """helpers=no spares a helper, but not one that keeps the host's connection open."""
    worker = daemon.open()
    worker.task("helper then subprocess then poll")
    worker.close()
    reaper.wait_due(worker)
    reaper.sweep(host, settings={"policy.helpers": "no"}).expect(0)
    shares, apart = worker.helpers
    assert worker.pinned.has_ended() and shares.has_ended(1)
    assert not apart.has_ended()


def test_host_below_a_worker(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """A host and a daemon are never ended, nor what is theirs, not even as a worker's descendants, nor
    seen from another host's tree alone."""
    worker = daemon.open()
    worker.task("nested-host then subprocess then poll")
    worker.close()
    reaper.audit_until_due(host, worker)
    reaper.sweep(host).expect(0)
    nested, nested_daemon, nested_plain, plain = worker.helpers
    assert worker.pinned.has_ended() and plain.has_ended(1)
    assert not nested.has_ended(1) and not nested_daemon.has_ended()
    assert not nested_plain.has_ended()


def test_helper_of_an_orphan(reaper: Reaper, host: MiniHost) -> None:
    """An orphan's host is who holds its other end, and so is its helper's."""
    daemon = host.daemon()
    worker = daemon.open()
    worker.task("helper then poll")
    daemon.pinned.kill()
    reaper.run("retire", str(worker.pid)).expect(0)
    reaper.wait_due(worker)
    reaper.sweep(host).expect(0)
    assert worker.pinned.has_ended() and worker.helpers[0].has_ended(1)


def test_protected_helper(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """A rule that names only a helper spares it, and only it."""
    worker = daemon.open()
    worker.task("subprocess then poll")
    worker.close()
    reaper.wait_due(worker)
    reaper.write_config("[protect]\ncomm = sleep\n")
    reaper.sweep(host).expect(0)
    assert worker.pinned.has_ended() and not worker.helpers[0].has_ended()


def test_protected_helper_that_shares_the_socket(reaper: Reaper, host: MiniHost,
                                                 daemon: Daemon) -> None:
    """Spared while it holds the socket, it spares its worker too: the host would never know."""
    worker = daemon.open()
    worker.task("helper precious then poll")
    worker.close()
    reaper.wait_due(worker)
    reaper.write_config("[protect]\ncomm = precious\n")
    result = reaper.sweep(host).expect(0)
    assert result.verdict(worker) == ("keep", "protected")
    assert worker.is_alive() and not worker.helpers[0].has_ended()


# ---- what must not be touched --------------------------------------------------------------


def kept(reaper: Reaper, host: MiniHost, worker: Worker, reason: str) -> None:
    """A fenced worker of that reason outlives a sweep in which its neighbour goes."""
    neighbour, = worker.daemon.leak()
    reaper.wait_due(neighbour)
    result = reaper.sweep(host)
    assert result.verdict(worker) == ("keep", reason)
    assert result.acted_on == {neighbour.pid}
    assert worker.is_alive()


def test_stopped(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """Somebody stopped it on purpose; continued, it is due again."""
    worker, = daemon.leak()
    worker.pinned.signal(signal.SIGSTOP)
    procs.until("stop", lambda: procs.state_of(worker.pid) == "T")
    kept(reaper, host, worker, "stopped")
    worker.pinned.signal(signal.SIGCONT)
    reaper.audit_until_due(host, worker)
    assert reaper.sweep(host).expect(0).acted_on == {worker.pid}


@needs_strace
def test_traced(reaper: Reaper, host: MiniHost, daemon: Daemon, workdir: pathlib.Path) -> None:
    """Somebody debugs it."""
    worker, = daemon.leak()
    tracer = subprocess.Popen(["strace", "-q", "-o", str(workdir / "strace"), "-p",
                               str(worker.pid)], stderr=subprocess.DEVNULL)
    try:
        procs.until("tracer", lambda: procs.status_field(worker.pid, "TracerPid") != "0")
        kept(reaper, host, worker, "traced")
    finally:
        tracer.terminate()
        tracer.wait(10)


@needs_strace
def test_changed_between_the_looks(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """Its daemon dies between the look that plans its end and the one before the signal: the proof
    still holds, but it is not quite what was judged."""
    worker, = daemon.leak()
    reaper.wait_due(worker)
    log = reaper.home / "strace"
    prefix = ("strace", "-D", "-f", "-qq", "-o", str(log), "-e", "trace=pidfd_open,getrandom",
              "-e", "inject=getrandom:delay_enter=1500000")  # the pause between the two looks
    with reaper.begin("--json", "sweep", host=host, prefix=prefix) as running:
        procs.until("the worker is pinned", lambda: log.exists() and "pidfd_open" in log.read_text())
        daemon.pinned.kill()
        result = running.result()
    action, = json.loads(result.out)["actions"]
    assert (action["pid"], action["outcome"]) == (worker.pid, "spared"), result
    assert action["why"] == "its place in the tree changed", result
    assert worker.is_alive()


@contextlib.contextmanager
def frozen(worker: Worker) -> Iterator[None]:
    group = FREEZER / f"reaper-test-{worker.pid}"
    group.mkdir()
    try:
        (group / "cgroup.procs").write_text(str(worker.pid))
        (group / "freezer.state").write_text("FROZEN")
        procs.until("freeze", lambda: (group / "freezer.state").read_text().strip() == "FROZEN")
        yield
    finally:
        (group / "freezer.state").write_text("THAWED")
        worker.pinned.kill()
        procs.until("empty group", lambda: not (group / "cgroup.procs").read_text().strip())
        group.rmdir()


@needs_freezer
def test_frozen(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """A frozen worker is uninterruptible: a signal would lie in wait for the thaw."""
    worker, = daemon.leak()
    with frozen(worker):
        kept(reaper, host, worker, "uninterruptible")


def test_uninterruptible(reaper: Reaper, host: MiniHost, daemon: Daemon,
                         workdir: pathlib.Path) -> None:
    """State D: reported, not touched."""
    fifo = workdir / "fifo"
    os.mkfifo(fifo)
    fifo.chmod(0o666)
    worker = daemon.open()
    worker.task(f"dstate {fifo}")
    worker.close()
    kept(reaper, host, worker, "uninterruptible")


def test_progress(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """Main thread at work between the looks: a doomed batch may still write to a data base."""
    worker = daemon.open()
    worker.task("cpu")
    worker.close()
    neighbour, = daemon.leak()
    reaper.wait_due(neighbour)
    result = reaper.sweep(host)
    worker.pinned.kill()
    assert result.verdict(worker) == ("keep", "running")
    assert result.acted_on == {neighbour.pid}


# ---- limits, order, lock -------------------------------------------------------------------


def test_breaker_per_sweep(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """Beyond max_kills_per_sweep nothing is ended, and the exit status says that a leak stays."""
    leaks = daemon.leak(3)
    reaper.wait_due(*leaks)
    limit = {"policy.max_kills_per_sweep": "2"}
    first = reaper.sweep(host, settings=limit).expect(1)
    assert len(first.acted_on) == 2
    held = [a for a in first.doc["actions"] if a["outcome"] == "held"]
    assert [a["pid"] for a in held] == [leak.pid for leak in leaks if leak.is_alive()]
    assert len(reaper.sweep(host, settings=limit).expect(0).acted_on) == 1


def test_breaker_per_hour(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """The hour's limit holds from one sweep to the next."""
    leaks = daemon.leak(3)
    reaper.wait_due(*leaks)
    limit = {"policy.max_kills_per_hour": "2"}
    assert len(reaper.sweep(host, settings=limit).expect(1).acted_on) == 2
    assert reaper.sweep(host, settings=limit).expect(1).acted_on == set()
    assert sum(leak.is_alive() for leak in leaks) == 1


def test_longest_blocked_first(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """Where only some may be ended, the oldest leak goes first."""
    first, = daemon.leak()
    time.sleep(0.5)
    rest = daemon.leak(2)
    reaper.wait_due(*rest)
    result = reaper.sweep(host, settings={"policy.max_kills_per_sweep": "1"}).expect(1)
    assert result.acted_on == {first.pid}


def test_lock(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """Two reapers never act at once: the second ends with 4 and does nothing."""
    leak, = daemon.leak()
    reaper.wait_due(leak)
    with open(reaper.state_dir / "lock", "w", encoding="ascii") as lock:
        os.fchmod(lock.fileno(), 0o640)
        fcntl.flock(lock, fcntl.LOCK_EX)
        result = reaper.run("sweep", host=host).expect(4)
        assert "lock" in result.err and leak.is_alive()
        reaper.run("audit", host=host).expect(1)
        assert reaper.audit_records() == []
    assert reaper.sweep(host).expect(0).acted_on == {leak.pid}


def test_many_reapers_at_once(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """However many start together, every leak has one intent and one outcome."""
    leaks = daemon.leak(10)
    reaper.wait_due(*leaks)
    with contextlib.ExitStack() as stack:
        running = [stack.enter_context(reaper.begin("sweep", host=host)) for _ in range(4)]
        codes = [one.result().rc for one in running]
    assert set(codes) <= {0, 4} and 0 in codes
    assert all(leak.pinned.has_ended(1) for leak in leaks)
    everyone = sorted(leak.pid for leak in leaks)
    assert intents(reaper) == outcomes(reaper) == everyone


def test_a_crowd(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """Two hundred leaks at once end within term_grace + 5 s, each with intent and outcome."""
    pooled = daemon.open()
    leaks = daemon.leak(CROWD)
    reaper.wait_due(*leaks)
    result = reaper.sweep(host, settings={**CROWD_LIMITS, "policy.term_grace": "10s"}).expect(0)
    assert result.took_s < 10 + 5
    everyone = {leak.pid for leak in leaks}
    assert result.acted_on == everyone
    assert all(leak.pinned.has_ended() for leak in leaks)
    assert intents(reaper) == outcomes(reaper) == sorted(everyone)
    assert len(reaper.audit_records()) == 2 * CROWD
    assert pooled.serves()


def test_a_stubborn_crowd(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """Many that ignore SIGTERM share one grace: they do not wait for each other."""
    leaks = [daemon.open() for _ in range(20)]
    for leak in leaks:
        leak.task("ignore-term then poll")
        leak.close()
    reaper.wait_due(*leaks)
    result = reaper.sweep(host).expect(0)
    assert result.took_s < 2 + 5
    assert all(result.action(leak)["outcome"] == "killed" for leak in leaks)


# ---- what it says --------------------------------------------------------------------------


def test_verbose_lines(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """-v --json: one line per event, each with schema, time and event."""
    leak, = daemon.leak()
    reaper.wait_due(leak)
    lines = reaper.run_argv(reaper.argv(("-v", "--json", "sweep"), (host,), None)).out
    events = [json.loads(line) for line in lines.splitlines()]
    assert all(e["schema"] == "reaper/1" and e["time"] and e["event"] for e in events)
    action, = (e for e in events if e["event"] == "action")
    assert action["pid"] == leak.pid and action["outcome"] == "exited"


@needs_root
def test_files_are_not_for_everybody(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """What reaper writes names processes of all users: 0640, directories 0750."""
    leak, = daemon.leak()
    reaper.wait_due(leak)
    state = reaper.home / "made" / "state"
    log = reaper.home / "made" / "log" / "audit.jsonl"
    reaper.home.joinpath("made").mkdir(mode=0o755)
    reaper.sweep(host, settings={"reaper.state_dir": str(state),
                                 "reaper.audit_log": str(log)}).expect(0)
    for path, mode in ((state, 0o750), (log.parent, 0o750), (log, 0o640),
                       (state / "history", 0o640)):
        assert path.stat().st_mode & 0o7777 == mode, path
