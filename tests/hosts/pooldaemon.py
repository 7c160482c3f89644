# SPDX-License-Identifier: Apache-2.0
"""A worker daemon that the kernel cannot tell from Spark's or pyjava's daemon.py.

It leads a process group of its own, listens on loopback (or on a unix path), forks one worker per
connection, and ends its group when the JVM closes its stdin.  A worker holds its task socket by the
descriptors 3, 4 and 5 while it is in the protocol, waits for work in read(3), and after it has
signed off keeps one descriptor and drains it until the host hangs up.

The listener's port, or its path, is the first line on stdout.  A task is one frame (4 bytes of
length, then text): steps joined by " then ", each the name of a step below and its arguments.  The
answer is one frame of JSON, sent when the task is over, or just before the step that blocks.
"""

from __future__ import annotations

import ctypes
import fcntl
import gc
import json
import mmap
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from typing import BinaryIO

FOREVER_S = 3600
STDIN_FD = 0
SELECT_TIMEOUT_S = 1
BIG_ARG = "x" * 100_000
BIG_ARGS = 15
HUGE_ARGS = 8 << 30
PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36
PR_SET_MM, PR_SET_MM_MAP = 35, 14
MAP_NORESERVE = 0x4000
CLONE_NEWNET = 0x40000000
CLONE_NEWPID = 0x20000000


class Task:
    """One task that the worker serves: its sockets, and whether the host has had its answer."""

    def __init__(self, sock: socket.socket, infile: BinaryIO, outfile: BinaryIO) -> None:
        self.sock = sock
        self.infile = infile
        self.outfile = outfile
        self.helpers: list[int] = []
        self.signed_off = False
        self.answered = False
        self.keep: list[object] = []

    def answer(self, wait: str = "pool", error: str | None = None) -> None:
        """Tell the host, once, what comes next: the wait, or that the task is over."""
        if self.answered:
            return
        self.answered = True
        text = {"pid": os.getpid(), "wait": wait, "helpers": self.helpers}
        if error is not None:
            text["error"] = error
        send_frame(self.outfile, json.dumps(text).encode())


# What a task keeps beyond its end, such as allocated memory: the worker holds it while it lives.
kept: list[object] = []


def send_frame(out: BinaryIO, data: bytes) -> None:
    out.write(struct.pack("!i", len(data)) + data)
    out.flush()


def read_frame(infile: BinaryIO) -> bytes:
    """Read one frame; EOFError where the host hung up between or within frames."""
    head = infile.read(4)
    if len(head) < 4:
        raise EOFError
    size = struct.unpack("!i", head)[0]
    data = infile.read(size)
    if len(data) < size:
        raise EOFError
    return data


# ---- steps that return: the next step follows, or the worker goes back to the pool ------------


def step_echo(task: Task, size: str) -> None:
    task.answer()
    task.outfile.write(b"e" * int(size))
    task.outfile.flush()


def step_memory(task: Task, mebibytes: str) -> None:
    kept.append(bytearray(os.urandom(1)) * (int(mebibytes) << 20))


def step_ignore_term(task: Task) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def step_block_term(task: Task) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])


def step_catch_term(task: Task, path: str) -> None:
    """Install a handler that says so in a file and returns: TERM does not end this worker."""

    def note(_signum: int, _frame: object) -> None:
        with open(path, "a", encoding="ascii") as out:
            out.write(f"{os.getpid()}\n")

    signal.signal(signal.SIGTERM, note)


def step_helper(task: Task, name: str | None = None) -> None:
    """Fork as multiprocessing does: the child keeps the task socket and never execs."""
    pid = os.fork()
    if pid == 0:
        if name is not None:
            set_comm(name.encode())
        time.sleep(FOREVER_S)
        os._exit(0)
    task.helpers.append(pid)


def step_grandchild(task: Task, end: str = "") -> None:
    """Fork a child that forks a child, which keeps the task socket; the one between may `leave`."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        pid = os.fork()
        if pid == 0:
            time.sleep(FOREVER_S)
            os._exit(0)
        os.write(writer, struct.pack("!i", pid))
        if end != "leave":
            time.sleep(FOREVER_S)
        os._exit(0)
    if end == "leave":
        os.waitpid(child, 0)
    task.helpers += [child] * (end != "leave") + list(struct.unpack("!i", os.read(reader, 4)))
    os.close(reader)
    os.close(writer)


def step_stand_in(task: Task) -> None:
    """Leave everything to a child, and so to another parent."""
    if os.fork() != 0:
        os._exit(0)


def step_foreign_helper(task: Task, uid: str) -> None:
    pid = os.fork()
    if pid == 0:
        os.setresuid(int(uid), int(uid), int(uid))
        time.sleep(FOREVER_S)
        os._exit(0)
    task.helpers.append(pid)


def step_nested_host(task: Task) -> None:
    """A host of its own below the worker: a child called java, its daemon without a worker, and another
    program of its own."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        set_comm(b"java")
        daemon = subprocess.Popen([sys.executable, "-m", "pyspark.daemon"], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, env={**os.environ,
                                                               "MINI_HOST_LISTEN": "tcp"})
        daemon.stdout.readline()
        plain = subprocess.Popen(["sleep", str(FOREVER_S)])
        os.write(writer, struct.pack("!ii", daemon.pid, plain.pid))
        time.sleep(FOREVER_S)
        os._exit(0)
    os.close(writer)
    task.helpers += [pid, *struct.unpack("!ii", os.read(reader, 8))]


def step_subprocess(task: Task) -> None:
    child = subprocess.Popen(["sleep", str(FOREVER_S)])
    kept.append(child)
    task.helpers.append(child.pid)


def step_session_subprocess(task: Task) -> None:
    child = subprocess.Popen(["sleep", str(FOREVER_S)], start_new_session=True)
    kept.append(child)
    task.helpers.append(child.pid)


def step_session_trap(task: Task, path: str) -> None:
    """Start a shell in a session of its own that cleans up when it is told to end."""
    child = subprocess.Popen(["sh", "-c", f"trap 'echo $$ > {path}; exit' TERM; echo; sleep {FOREVER_S} & wait"],
                             start_new_session=True, stdout=subprocess.PIPE)
    child.stdout.readline()
    kept.append(child)
    task.helpers.append(child.pid)


def step_locked_memory(task: Task, tests: str, folder: str) -> None:
    """Start a file system that does not answer, and a process that waits for it, its memory locked."""
    server = subprocess.Popen([sys.executable, "-m", "harness.dead_fs", folder], cwd=tests,
                              stdout=subprocess.PIPE, text=True)
    kept.append(server)
    task.helpers += [server.pid, int(server.stdout.readline())]


def step_bigargs(task: Task) -> None:
    """Start a child with an argument list of a megabyte and a half."""
    argv = [sys.executable, "-c", f"import time; time.sleep({FOREVER_S})"] + [BIG_ARG] * BIG_ARGS
    child = subprocess.Popen(argv)
    kept.append(child)
    task.helpers.append(child.pid)


def mm_map(libc: ctypes.CDLL, args: int) -> bytes:
    """struct prctl_mm_map: this process as it is, but for its arguments (stat fields of proc(5))."""
    with open("/proc/self/stat", encoding="ascii", errors="replace") as file:
        stat = [0, 0, 0, *map(int, file.read().rpartition(")")[2].split()[1:])]
    libc.sbrk.restype = ctypes.c_size_t
    return struct.pack("=11QQIi", stat[25], stat[26], stat[44], stat[45], stat[46], libc.sbrk(0),
                       stat[27], args, args + HUGE_ARGS, stat[49], stat[50], 0, 0, -1)


def step_hugeargs(task: Task) -> None:
    """Show 8 GiB of memory as the argument list; that takes no privilege."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_size_t
    args = libc.mmap(None, ctypes.c_size_t(HUGE_ARGS), mmap.PROT_READ,
                     mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE, -1, ctypes.c_long(0))
    described = mm_map(libc, args)
    if libc.prctl(PR_SET_MM, PR_SET_MM_MAP, described, ctypes.c_ulong(len(described)), 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def step_thread(task: Task) -> None:
    threading.Thread(target=time.sleep, args=(FOREVER_S,), daemon=True).start()


def step_spin_thread(task: Task) -> None:
    def spin() -> None:
        while True:
            pass

    threading.Thread(target=spin, daemon=True).start()


def step_waking_thread(task: Task, milliseconds: str) -> None:
    """A thread that wakes for ever, as a gRPC channel's do, and costs next to nothing."""

    def wake() -> None:
        while True:
            time.sleep(int(milliseconds) / 1000)

    threading.Thread(target=wake, daemon=True).start()


def set_comm(name: bytes) -> None:
    with open("/proc/self/comm", "wb") as out:
        out.write(name)


def step_comm(task: Task, hexadecimal: str) -> None:
    set_comm(bytes.fromhex(hexadecimal))


def libc_call(name: str, *args: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*args) != 0:
        raise OSError(ctypes.get_errno(), name)


def step_nondumpable(task: Task) -> None:
    libc_call("prctl", PR_SET_DUMPABLE, 0, 0, 0, 0)


def step_subreaper(task: Task) -> None:
    libc_call("prctl", PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def step_argv(task: Task, *words: str) -> None:
    """Write other words over those that this process was started with."""
    with open("/proc/self/stat", encoding="ascii", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    begin, end = int(fields[45]), int(fields[46])  # arg_start and arg_end, the third is fields[0]
    text = "\0".join(words).encode()[:end - begin - 1]
    ctypes.memmove(begin, text.ljust(end - begin, b"\0"), end - begin)


def step_unshare_pid(task: Task) -> None:
    """The next child is pid 1 of a namespace of its own."""
    libc_call("unshare", CLONE_NEWPID)


def step_unshare_net(task: Task) -> None:
    libc_call("unshare", CLONE_NEWNET)


def step_setuid(task: Task, uid: str) -> None:
    os.setresuid(int(uid), int(uid), int(uid))


# ---- steps that block: the answer goes out first ----------------------------------------------


def step_sleep(task: Task, seconds: str = str(FOREVER_S)) -> None:
    task.answer("sleep")
    time.sleep(float(seconds))


def step_cpu(task: Task) -> None:
    task.answer("cpu")
    while True:
        pass


def step_poll(task: Task, unread: str = "0") -> None:
    """Yield `unread` bytes that the host is not going to read, then poll for ever."""
    task.answer("poll")
    task.outfile.write(b"p" * int(unread))
    task.outfile.flush()
    select.poll().poll(-1)


def step_poll_loop(task: Task, milliseconds: str) -> None:
    task.answer("poll")
    poller = select.poll()
    while True:
        poller.poll(int(milliseconds))


def step_poll_or_work(task: Task, path: str) -> None:
    """Wake twenty times a second from one same wait, and compute as long as a file is there."""
    task.answer("poll")
    while True:
        select.poll().poll(50)
        while os.path.exists(path):
            pass


def step_epoll(task: Task) -> None:
    poller = select.epoll()
    task.answer("epoll")
    poller.poll(-1)


def step_select(task: Task) -> None:
    task.answer("select")
    select.select([], [], [])


def step_futex(task: Task) -> None:
    lock = threading.Lock()
    lock.acquire()
    task.answer("futex")
    lock.acquire()


def step_recv_unix(task: Task) -> None:
    ours, _theirs = socket.socketpair()
    task.answer("recv")
    ours.recv(1)


def step_flock(task: Task) -> None:
    with tempfile.NamedTemporaryFile() as held, open(held.name, "rb") as wanted:
        fcntl.flock(held.fileno(), fcntl.LOCK_EX)
        os.unlink(held.name)
        open(held.name, "wb").close()  # what NamedTemporaryFile expects to remove
        task.answer("flock")
        fcntl.flock(wanted.fileno(), fcntl.LOCK_EX)


def step_waitpid(task: Task) -> None:
    child = subprocess.Popen(["sleep", str(FOREVER_S)])
    task.helpers.append(child.pid)
    task.answer("waitpid")
    os.waitpid(child.pid, 0)


def step_pipe(task: Task) -> None:
    reader, writer = os.pipe()
    kept.append(writer)
    task.answer("pipe")
    os.read(reader, 1)


def step_pause(task: Task) -> None:
    task.answer("pause")
    signal.pause()


def step_bigwrite(task: Task, size: str) -> None:
    task.answer("write")
    task.outfile.write(b"w" * int(size))
    task.outfile.flush()


def step_signoff(task: Task, unread: str = "0") -> None:
    """Refuse to be reused: leave `unread` bytes for the host and wait for it to hang up."""
    task.signed_off = True
    task.answer("signoff")
    task.outfile.write(b"s" * int(unread))
    task.outfile.flush()


def step_exec(task: Task) -> None:
    task.answer("sleep")
    os.execv("/bin/sleep", ["sleep", str(FOREVER_S)])


def step_exit(task: Task) -> None:
    task.answer("exit")
    os._exit(0)


def step_segv(task: Task) -> None:
    """Die as a faulty extension does; the host is told that the worker exits."""
    task.answer("exit")
    ctypes.string_at(0)


def step_close_socket(task: Task) -> None:
    """Close every descriptor of the task socket, then stay."""
    task.answer("poll")
    for fd in (task.infile.fileno(), task.outfile.fileno(), task.sock.fileno()):
        os.close(fd)
    select.poll().poll(-1)


def step_dstate(task: Task, fifo: str) -> None:
    """Wait uninterruptibly, as a vfork parent whose child opens a FIFO that nobody writes."""
    task.answer("dstate")
    actions = [(os.POSIX_SPAWN_OPEN, 0, fifo, os.O_RDONLY, 0)]
    os.posix_spawn("/bin/true", ["true"], {}, file_actions=actions)


STEPS: dict[str, Callable[..., None]] = {
    "argv": step_argv,
    "bigargs": step_bigargs,
    "bigwrite": step_bigwrite,
    "block-term": step_block_term,
    "catch-term": step_catch_term,
    "close-socket": step_close_socket,
    "comm": step_comm,
    "cpu": step_cpu,
    "dstate": step_dstate,
    "echo": step_echo,
    "epoll": step_epoll,
    "exec": step_exec,
    "exit": step_exit,
    "flock": step_flock,
    "foreign-helper": step_foreign_helper,
    "futex": step_futex,
    "grandchild": step_grandchild,
    "helper": step_helper,
    "hugeargs": step_hugeargs,
    "ignore-term": step_ignore_term,
    "locked-memory": step_locked_memory,
    "memory": step_memory,
    "nanosleep": step_sleep,
    "nested-host": step_nested_host,
    "nondumpable": step_nondumpable,
    "pause": step_pause,
    "pipe": step_pipe,
    "poll": step_poll,
    "poll-loop": step_poll_loop,
    "poll-or-work": step_poll_or_work,
    "recv-unix": step_recv_unix,
    "segv": step_segv,
    "select": step_select,
    "session-subprocess": step_session_subprocess,
    "session-trap": step_session_trap,
    "setuid": step_setuid,
    "signoff": step_signoff,
    "sleep": step_sleep,
    "spin-thread": step_spin_thread,
    "stand-in": step_stand_in,
    "subprocess": step_subprocess,
    "subreaper": step_subreaper,
    "thread": step_thread,
    "unshare-net": step_unshare_net,
    "unshare-pid": step_unshare_pid,
    "waitpid": step_waitpid,
    "waking-thread": step_waking_thread,
}


# ---- the worker -------------------------------------------------------------------------------


def run_task(task: Task, text: str) -> None:
    try:
        for step in text.split(" then "):
            name, *args = step.split()
            STEPS[name](task, *args)
        task.answer()
    except Exception as error:  # the host must hear of it, whatever it is
        traceback.print_exc()
        task.signed_off = True
        task.answer("signoff", repr(error))


def worker(sock: socket.socket) -> bool:
    """Serve one task; whether the worker may serve another."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    infile = os.fdopen(os.dup(sock.fileno()), "rb", 65536)
    outfile = os.fdopen(os.dup(sock.fileno()), "wb", 65536)
    with infile, outfile:
        task = Task(sock, infile, outfile)
        run_task(task, read_frame(infile).decode())
        return not task.signed_off


def child(sock: socket.socket, listener: socket.socket) -> None:
    listener.close()
    with open(os.devnull, "rb") as null:
        os.dup2(null.fileno(), STDIN_FD)
    sock.sendall(struct.pack("!i", os.getpid()))
    while worker(sock):
        gc.collect()
    while sock.recv(1024):
        pass


# ---- the daemon -------------------------------------------------------------------------------


def shutdown(code: int) -> None:
    """End every worker with the daemon: the whole group, as the real daemons do."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.kill(0, signal.SIGHUP)
    sys.exit(code)


def listen(where: str) -> tuple[socket.socket, str]:
    """Listen at `where` (tcp, tcp6, a port or a path); the socket and what the host needs to find it."""
    if where == "tcp" or where.isdigit():
        port = 0 if where == "tcp" else int(where)
        listener = socket.create_server(("127.0.0.1", port), backlog=1024)
        return listener, str(listener.getsockname()[1])
    if where == "tcp6":
        listener = socket.create_server(("::1", 0), family=socket.AF_INET6, backlog=1024)
        return listener, str(listener.getsockname()[1])
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(where)
    listener.listen(1024)
    return listener, where


def obey_host() -> None:
    """Read one request from the JVM: a pid to kill, or the end of the stream."""
    data = os.read(STDIN_FD, 4)
    if len(data) < 4:
        shutdown(0)
    try:
        os.kill(struct.unpack("!i", data)[0], signal.SIGKILL)
    except OSError:
        pass


def fork_worker(listener: socket.socket) -> None:
    sock, _ = listener.accept()
    if os.fork() != 0:
        sock.close()
        return
    code = 1
    try:
        child(sock, listener)
        code = 0
    except (EOFError, ConnectionError):
        pass
    finally:
        os._exit(code)


def main() -> None:
    os.setpgid(0, 0)
    signal.signal(signal.SIGTERM, lambda _signum, _frame: shutdown(1))
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listener, found_at = listen(os.environ.get("MINI_HOST_LISTEN", "tcp"))
    os.write(1, (found_at + "\n").encode())
    while True:
        ready = select.select([STDIN_FD, listener], [], [], SELECT_TIMEOUT_S)[0]
        if STDIN_FD in ready:
            obey_host()
        if listener in ready:
            fork_worker(listener)
