# SPDX-License-Identifier: Apache-2.0
"""A file system of an attacker's, mounted where root looks: as a user may mount one in a directory of its
own, and let others see it, where /etc/fuse.conf has user_allow_other.

As a program: mounts it in a mount namespace of its own, prints `ready`, and serves it until it is killed.
"""

from __future__ import annotations

import pathlib
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from harness import dead_fs

OPENDIR, READDIR = 27, 28
ENOENT = 2
NAME = b"a.log"
DT_REG = 8


class Rogue:
    """The server of one mount; it is ended with its test, or before that when somebody waits for it."""

    def __init__(self, kind: str, place: pathlib.Path, text: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "harness.rogue_fs", kind, str(place)], text=True,
            cwd=pathlib.Path(__file__).parents[1], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(text)
        self.process.stdin.close()
        assert self.process.stdout.readline() == "ready\n"

    @property
    def prefix(self) -> tuple[str, ...]:
        """Under which a program sees the mount."""
        return ("nsenter", f"--mount=/proc/{self.process.pid}/ns/mnt", "--")

    def finish(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


@contextmanager
def rogue(kind: str, place: pathlib.Path, text: str, limit_s: float) -> Iterator[Rogue]:
    """Mount it on a directory or a file. Who still waits for an answer after so long gets an error: a
    request that was read cannot be interrupted, not even by SIGKILL."""
    server = Rogue(kind, place, text)
    timer = threading.Timer(limit_s, server.process.kill)
    timer.start()
    try:
        yield server
    finally:
        timer.cancel()
        server.finish()


def mute(request: bytes) -> tuple[int, bytes] | None:
    """Nothing is ever answered, once it is mounted."""
    opcode, = struct.unpack_from("<I", request, 4)
    return (0, dead_fs.INITIAL) if opcode == dead_fs.INIT else None


def part(request: bytes, content: bytes) -> bytes:
    """What a request asks for of a file or a directory."""
    offset, size = struct.unpack_from("<QI", request, 48)
    return content[offset:offset + size]


def entry() -> bytes:
    padded = NAME + bytes(-len(NAME) % 8)
    head = struct.pack("<QQII", 2, 24 + len(padded), len(NAME), DT_REG)
    return head + padded


def lying(text: bytes) -> dead_fs.Answer:
    """One log with this text, in a directory; both are root's, it says."""
    def answer(request: bytes) -> tuple[int, bytes] | None:
        opcode, = struct.unpack_from("<I", request, 4)
        node, = struct.unpack_from("<Q", request, 16)
        attributes = dead_fs.attributes(node, len(text))
        if opcode == dead_fs.LOOKUP and request[40:].rstrip(b"\0") != NAME:
            return -ENOENT, b""
        if opcode == dead_fs.LOOKUP:
            return 0, struct.pack("<4Q2I", 2, 0, 60, 60, 0, 0) + dead_fs.attributes(2, len(text))
        if opcode == dead_fs.GETATTR:
            return 0, struct.pack("<Q2I", 60, 0, 0) + attributes
        if opcode in (dead_fs.OPEN, OPENDIR):
            return 0, struct.pack("<Q2I", 1, 0, 0)
        if opcode in (dead_fs.READ, READDIR):
            return 0, part(request, text if opcode == dead_fs.READ else entry())
        return dead_fs.answer(request)
    return answer


def main(kind: str, place: str) -> None:
    answer = mute if kind == "mute" else lying(sys.stdin.buffer.read())
    dead_fs.mount(place, answer, 0o40000 if pathlib.Path(place).is_dir() else 0o100000)
    print("ready", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
