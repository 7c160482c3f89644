# SPDX-License-Identifier: Apache-2.0
"""The mini host itself: what the kernel shows of it is what it shows of the real ones."""

from __future__ import annotations

import os
import pathlib
import subprocess

import pytest

from harness import procs
from harness.minihost import Daemon, MiniHost, StartHost

SIGTERM_BIT = 1 << 14
TASK_SOCKET_FDS = {3, 4, 5}
SIGNED_OFF_FDS = {4}


@pytest.fixture(scope="module")
def daemon(module_host: MiniHost) -> Daemon:
    return module_host.daemon()


def ss(*args: str) -> list[list[str]]:
    out = subprocess.run(["ss", "-Htn", "-a", *args], capture_output=True, text=True, check=True)
    return [line.split() for line in out.stdout.splitlines()]


def state_of(worker_port: int, host_port: int) -> str:
    """TCP state of the worker's end; empty where it is in no table."""
    rows = ss(f"sport = {worker_port} and dport = {host_port}")
    return rows[0][0] if rows else ""


def catches_term(pid: int) -> bool:
    return bool(int(procs.status_field(pid, "SigCgt") or "0", 16) & SIGTERM_BIT)


def test_daemon_and_worker_look_real(module_host: MiniHost, daemon: Daemon) -> None:
    """Name, argv, groups, flags and descriptors are what a census goes by."""
    worker = daemon.open()
    of_host, of_daemon, of_worker = (procs.stat(x.pid) for x in (module_host, daemon, worker))
    assert of_host and of_daemon and of_worker
    assert of_host.comm == b"java"
    argv = pathlib.Path(f"/proc/{worker.pid}/cmdline").read_bytes()
    assert argv == b"python3\0-m\0pyspark.daemon\0"
    assert of_daemon.ppid == module_host.pid and of_daemon.pgrp == daemon.pid
    assert of_worker.ppid == daemon.pid and of_worker.pgrp == daemon.pid
    assert of_worker.session == of_host.session
    assert not of_daemon.flags & procs.PF_FORKNOEXEC
    assert of_worker.flags & procs.PF_FORKNOEXEC
    assert catches_term(daemon.pid)
    assert os.readlink(f"/proc/{worker.pid}/fd/0") == "/dev/null"


def test_pooled_worker_reads_its_socket(daemon: Daemon) -> None:
    """Three descriptors of one inode and a blocked read(3): a worker in the protocol."""
    worker = daemon.open()
    assert worker.serves()
    procs.until("its next read", lambda: procs.is_waiting(worker.pid, "pool"))
    fds = procs.socket_fds(worker.pid)
    assert set(fds) == TASK_SOCKET_FDS and len(set(fds.values())) == 1
    assert not catches_term(worker.pid)
    assert state_of(daemon.port, worker.lport) == "ESTAB"


def test_signed_off_worker_keeps_one_descriptor(daemon: Daemon) -> None:
    """The shape that proves that a worker has left the protocol by itself."""
    worker = daemon.open()
    worker.task("signoff")
    assert set(procs.socket_fds(worker.pid)) == SIGNED_OFF_FDS
    worker.close()
    procs.until("its exit after the host hung up", lambda: worker.pinned.has_ended(1))


@pytest.mark.parametrize("wait", ["poll", "epoll", "select", "futex", "recv-unix", "sleep",
                                  "flock", "waitpid", "pipe", "pause", "poll-loop 200",
                                  "bigwrite 30000000", "cpu"])
def test_waits(daemon: Daemon, wait: str) -> None:
    """Each wait is reached before the command is answered."""
    worker = daemon.open()
    worker.task(wait)
    assert worker.is_alive()
    worker.pinned.kill()


def test_hang_up_leaves_close_wait(daemon: Daemon) -> None:
    """The early stop: the host closed, the worker sits elsewhere."""
    worker, = daemon.leak()
    assert state_of(daemon.port, worker.lport) == "CLOSE-WAIT"


def test_close_with_unread_bytes_resets(daemon: Daemon) -> None:
    """The kernel resets the connection: the worker's socket is in no table any more."""
    worker = daemon.open()
    worker.task("poll 200000")
    worker.close()
    procs.until("the reset", lambda: state_of(daemon.port, worker.lport) == "")
    assert set(procs.socket_fds(worker.pid)) == TASK_SOCKET_FDS


def test_half_close_is_not_a_hang_up(daemon: Daemon) -> None:
    """CLOSE_WAIT with the host's end still there."""
    worker = daemon.open()
    worker.task("poll")
    worker.half_close()
    procs.until("CLOSE-WAIT", lambda: state_of(daemon.port, worker.lport) == "CLOSE-WAIT")
    assert state_of(worker.lport, daemon.port).startswith("FIN-WAIT")


def test_helpers(daemon: Daemon) -> None:
    """A forked helper keeps the task socket, an exec'ed one does not."""
    worker = daemon.open()
    worker.task("helper then subprocess then poll")
    forked, executed = worker.helpers
    assert set(procs.socket_fds(forked.pid)) == TASK_SOCKET_FDS
    assert procs.socket_fds(executed.pid) == {}
    parents = {found.pid: found.ppid for found in procs.all_stats()}
    assert parents[forked.pid] == parents[executed.pid] == worker.pid


def test_daemon_ends_with_its_host(start_host: StartHost) -> None:
    """The end of stdin makes the daemon hang up its whole group, as the real one does."""
    host = start_host()
    daemon = host.daemon("pyjava.daemon")
    workers = [daemon.open(), *daemon.leak()]
    host.kill()
    for pinned in (daemon.pinned, *(worker.pinned for worker in workers)):
        assert pinned.has_ended(10)


@pytest.mark.parametrize("where", ["tcp6", "unix"])
def test_other_transports(module_host: MiniHost, tmp_path: pathlib.Path, where: str) -> None:
    """IPv6 and unix sockets serve as well."""
    daemon = module_host.daemon(where=where if where != "unix" else str(tmp_path / "d.sock"))
    assert daemon.open().serves()


def test_nothing_is_left_behind(start_host: StartHost, tmp_path: pathlib.Path) -> None:
    """The finalizer ends what hides best: orphans, stopped ones, sessions of their own, D."""
    host = start_host()
    daemon = host.daemon()
    worker = daemon.open()
    worker.task("session-subprocess then helper then ignore-term then poll")
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    stuck = daemon.open()
    stuck.task(f"dstate {fifo}")
    daemon.pinned.kill()
    worker.pinned.kill()
    host.kill()
    assert len(host.family()) >= 4
    host.finish()
    assert procs.family(set(), set(), host.tag.encode()) == []
