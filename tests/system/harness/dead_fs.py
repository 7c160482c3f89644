# SPDX-License-Identifier: Apache-2.0
"""A process whose memory is locked for as long as a file system does not answer.

As a program: mounts a FUSE file system with one file, of which no byte is ever read, in a mount
namespace of its own; prints the pid of a child that maps that file twice. The first mapping waits for a
page, and the second one for the first, with the child's mmap_lock: so does whoever reads its cmdline.
"""

from __future__ import annotations

import ctypes
import os
import pathlib
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from harness import procs

PAGE = 4096
CLONE_NEWNS = 0x20000
MS_NOSUID_NODEV = 2 | 4
MS_REC_PRIVATE = 0x4000 | 1 << 18
PROT_READ, MAP_PRIVATE = 1, 2
LOOKUP, FORGET, GETATTR, OPEN, READ, INIT, INTERRUPT = 1, 2, 3, 14, 15, 26, 36
DIRECT_IO = 1
ENOSYS = 38
READY_S = 30
INITIAL = struct.pack("<4I2H2I2HI7I", 7, 31, 0, 0, 1, 1, PAGE, 1, 0, 0, 0, *[0] * 7)

Answer = Callable[[bytes], tuple[int, bytes] | None]

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p


@contextmanager
def locked_process(folder: pathlib.Path) -> Iterator[int]:
    """Its pid; it is ended at the end, and so is the file system."""
    server = subprocess.Popen([sys.executable, "-m", "harness.dead_fs", str(folder)],
                              cwd=pathlib.Path(__file__).parents[1], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    pid = int(server.stdout.readline())
    child = procs.Pinned(pid)
    try:
        yield pid
    finally:
        server.kill()
        server.wait()
        server.stdout.close()
        child.kill()
        child.close()


def check(result: int) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def attributes(node: int, size: int = PAGE) -> bytes:
    mode = 0o40755 if node == 1 else 0o100644
    return struct.pack("<6Q10I", node, size, 8, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, PAGE, 0)


def answer(request: bytes) -> tuple[int, bytes] | None:
    """The error and the body for a request; None: it gets no answer."""
    opcode, = struct.unpack_from("<I", request, 4)
    node, = struct.unpack_from("<Q", request, 16)
    if opcode in (FORGET, INTERRUPT, READ):
        return None
    if opcode == INIT:
        return 0, INITIAL
    if opcode == LOOKUP:
        return 0, struct.pack("<4Q2I", 2, 0, 60, 60, 0, 0) + attributes(2)
    if opcode == GETATTR:
        return 0, struct.pack("<Q2I", 60, 0, 0) + attributes(node)
    if opcode == OPEN:
        return 0, struct.pack("<Q2I", 1, DIRECT_IO, 0)
    return -ENOSYS, b""


def serve(device: int, answers: Answer) -> None:
    while True:
        request = os.read(device, 1 << 17)
        said = answers(request)
        if said:
            error, body = said
            unique, = struct.unpack_from("<Q", request, 8)
            os.write(device, struct.pack("<IiQ", 16 + len(body), error, unique) + body)


def is_stuck(task: pathlib.Path) -> bool:
    """It waits for the server, or uninterruptibly for who does."""
    return ((task / "wchan").read_text() == "request_wait_answer"
            or (task / "stat").read_text().rpartition(")")[2].split()[0] == "D")


def wait_stuck(pid: int, threads: int) -> None:
    deadline = time.monotonic() + READY_S
    while sum(map(is_stuck, pathlib.Path(f"/proc/{pid}/task").iterdir())) < threads:
        if time.monotonic() > deadline:
            sys.exit(f"dead_fs: {pid} is not stuck")
        time.sleep(0.01)


def mount(place: str, answers: Answer, root_mode: int = 0o40000) -> None:
    """Serve a file system there, in a mount namespace of our own."""
    check(libc.unshare(CLONE_NEWNS))
    check(libc.mount(b"none", b"/", None, MS_REC_PRIVATE, None))
    device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    options = f"fd={device},rootmode={root_mode:o},user_id=0,group_id=0,allow_other"
    check(libc.mount(b"dead_fs", place.encode(), b"fuse", MS_NOSUID_NODEV, options.encode()))
    threading.Thread(target=serve, args=(device, answers), daemon=True).start()


def main(folder: str) -> None:
    mount(folder, answer)
    with subprocess.Popen([sys.executable, "-m", "harness.dead_fs", folder, "lock"],
                          start_new_session=True) as child:
        wait_stuck(child.pid, 2)
        print(child.pid, flush=True)
        child.wait()


def map_file(file: int) -> int:
    return int(libc.mmap(None, PAGE, PROT_READ, MAP_PRIVATE, file, ctypes.c_long(0)))


def lock(folder: str) -> None:
    """Each call is without the interpreter's lock, in a thread of its own."""
    file = os.open(f"{folder}/file", os.O_RDONLY)
    first = map_file(file)
    page = ctypes.create_string_buffer(PAGE)
    threading.Thread(target=lambda: libc.memcmp(ctypes.c_void_p(first), page, 1)).start()
    wait_stuck(os.getpid(), 1)
    map_file(file)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        lock(sys.argv[1])
    else:
        main(sys.argv[1])
