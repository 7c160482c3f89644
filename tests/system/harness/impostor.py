# SPDX-License-Identifier: Apache-2.0
"""Somebody who dresses as the host and the daemon of another user's process.

A process called java starts one that adopts orphans, has a program of another user's go into the
background below it, and then only runs `python3 -m pyspark.daemon`.  What it adopted has all that a
leaked worker has: it never exec'ed, runs what its parent runs, and holds a connection by three
descriptors of which the other end is closed.  It is a pause that its user wants; that it is no
worker of that daemon says nothing but its uid.
"""

from __future__ import annotations

import ctypes
import json
import os
import pathlib
import select
import signal
import socket
import subprocess
import sys
import uuid

from harness import procs

PR_SET_NAME, PR_SET_CHILD_SUBREAPER = 15, 36
TAG = "REAPER_TEST_RUN"


class Impostor:
    """The host, the daemon and what that adopted, pinned; always ended by the test that began them."""

    def __init__(self, hosts: pathlib.Path, owner: int, victim: int) -> None:
        self.tag = str(uuid.uuid4())
        self.process = subprocess.Popen(
            [sys.executable, "-m", "harness.impostor", str(owner), str(victim)],
            cwd=pathlib.Path(__file__).parents[1], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(hosts), "PYTHONDONTWRITEBYTECODE": "1",
                 TAG: self.tag})
        self.pins: list[procs.Pinned] = []
        try:
            self.know()
        except BaseException:
            self.__exit__()
            raise

    def know(self) -> None:
        """Waits until they are all that they are to be."""
        assert self.process.stdin is not None and self.process.stdout is not None
        found = json.loads(self.process.stdout.readline())
        host = procs.stat(self.process.pid)
        assert host is not None
        self.pid, self.start = host.pid, host.start
        self.pins += (procs.Pinned(found["daemon"]), procs.Pinned(found["victim"]))
        self.daemon, self.victim = self.pins
        procs.until("its dress", lambda: b"\0pyspark.daemon\0" in pathlib.Path(
            f"/proc/{self.daemon.pid}/cmdline").read_bytes())
        procs.until("the pause", lambda: procs.is_waiting(self.victim.pid, "poll"))
        adopted = procs.stat(self.victim.pid)
        assert adopted is not None and adopted.ppid == self.daemon.pid

    def __enter__(self) -> Impostor:
        return self

    def __exit__(self, *_: object) -> None:
        tag = f"{TAG}={self.tag}".encode()
        left = procs.end_family(lambda: procs.family(set(), set(), tag))
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()
        self.process.wait(10)
        for pinned in self.pins:
            pinned.close()
        assert not left, f"left behind by the impostor: {left}"


def prctl(option: int, argument: object) -> None:
    if ctypes.CDLL(None).prctl(option, argument, 0, 0, 0) != 0:
        raise OSError("prctl")


def become(uid: int) -> None:
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def hung_up() -> socket.socket:
    """One end of a connection whose other end is closed."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        with socket.create_connection(listener.getsockname()):
            return listener.accept()[0]


def pause(connection: socket.socket, uid: int) -> None:
    os.setsid()
    become(uid)
    os.dup(connection.fileno())
    os.dup(connection.fileno())
    select.poll().poll(-1)


def into_background(connection: socket.socket, uid: int) -> int:
    """Have a child leave a child of its own to us. @return its pid."""
    reader, writer = os.pipe()
    middle = os.fork()
    if middle == 0:
        child = os.fork()
        if child == 0:
            pause(connection, uid)
        os.write(writer, str(child).encode())
        os._exit(0)
    os.waitpid(middle, 0)
    return int(os.read(reader, 16))


def adopt(owner: int, victim: int, tell: int) -> None:
    """Dress only when there is somebody to be taken for a worker; listen where that was called."""
    connection = hung_up()
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    os.write(tell, str(into_background(connection, victim)).encode())
    os.environ["MINI_HOST_LISTEN"] = str(connection.getsockname()[1])
    become(owner)
    os.execv(sys.executable, ["python3", "-m", "pyspark.daemon"])


def main(owner: int, victim: int) -> None:
    reader, writer = os.pipe()
    daemon = os.fork()
    if daemon == 0:
        adopt(owner, victim, writer)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    become(owner)
    prctl(PR_SET_NAME, b"java")
    print(json.dumps({"daemon": daemon, "victim": int(os.read(reader, 16))}), flush=True)
    signal.pause()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
