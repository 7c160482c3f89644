# SPDX-License-Identifier: Apache-2.0
"""Ways in which the main thread of a Python worker can be blocked, for a while or for ever.

Those of HEALTHY come back after about so many seconds, and the task goes on; those of LEAKS never do. As
in inworker.py, whoever may stay behind sets an alarm, which changes nothing in what it waits for.
"""

import asyncio
import concurrent.futures
import ctypes
import fcntl
import multiprocessing
import os
import queue
import select
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import inworker

YEAR = 365 * 24 * 3600


def later(seconds, act):
    """Something that another thread does in so many seconds."""
    timer = threading.Timer(seconds, act)
    timer.daemon = True
    timer.start()
    return timer


def pipe_in(seconds):
    """A pipe into which a byte comes."""
    out, into = os.pipe()
    later(seconds, lambda: os.write(into, b"x"))
    return out


def pair_in(family_pair, seconds):
    near, far = family_pair
    later(seconds, lambda: far.sendall(b"x"))
    return near, far


def tcp_pair():
    with socket.create_server(("127.0.0.1", 0)) as server:
        far = socket.create_connection(server.getsockname())
        return server.accept()[0], far


def sleep(seconds):
    time.sleep(seconds)
    return True


def spin(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass
    return True


def poll(seconds):
    poller = select.poll()
    poller.register(pipe_in(seconds), select.POLLIN)
    return bool(poller.poll(-1))


def poll_in_steps(seconds):
    out, poller = pipe_in(seconds), select.poll()
    poller.register(out, select.POLLIN)
    while not poller.poll(100):
        pass
    return True


def epoll(seconds):
    with select.epoll() as poller:
        poller.register(pipe_in(seconds), select.EPOLLIN)
        return bool(poller.poll())


def selecting(seconds):
    return bool(select.select([pipe_in(seconds)], [], [])[0])


def pipe_read(seconds):
    return os.read(pipe_in(seconds), 1) == b"x"


def recv_tcp(seconds):
    near, far = pair_in(tcp_pair(), seconds)
    with near, far:
        return near.recv(1024) == b"x"


def recv_unix(seconds):
    near, far = pair_in(socket.socketpair(), seconds)
    with near, far:
        return near.recv(1024) == b"x"


def recv_with_timeout(seconds):
    near, far = pair_in(tcp_pair(), seconds)
    with near, far:
        near.settimeout(600)
        return near.recv(1) == b"x"


def recv_of_a_closed_peer(seconds):
    """Its own connection in CLOSE_WAIT is nobody's business."""
    near, far = tcp_pair()
    far.close()
    time.sleep(seconds)
    return near.recv(1) == b""


def libpq(seconds):
    """As a client of PostgreSQL waits: libpq polls its connection without a timeout, then reads."""
    near, far = pair_in(tcp_pair(), seconds)
    with near, far:
        near.setblocking(False)
        poller = select.poll()
        poller.register(near, select.POLLIN | select.POLLERR)
        return bool(poller.poll(-1)) and near.recv(16384) == b"x"


def send_to_who_does_not_read(seconds):
    near, far = tcp_pair()
    later(seconds, far.close)
    try:
        while True:
            near.sendall(b"x" * 65536)
    except OSError:
        return True


def accept(seconds):
    with socket.create_server(("127.0.0.1", 0)) as server:
        later(seconds, lambda: socket.create_connection(server.getsockname()))
        return bool(server.accept())


def connected_and_not_accepted(seconds):
    """The other end of its connection is nobody's, as that of a closed one."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        near = socket.create_connection(server.getsockname())
        near.settimeout(seconds)
        try:
            near.recv(1024)
        except socket.timeout:
            pass
        return True


def http(seconds):
    with socket.create_server(("127.0.0.1", 0)) as server:
        def answer():
            peer, _ = server.accept()
            with peer:
                peer.recv(65536)  # who closes with bytes unread resets
                time.sleep(seconds)
                peer.sendall(b"HTTP/1.0 200 OK\r\n\r\nx")

        threading.Thread(target=answer, daemon=True).start()
        url = "http://127.0.0.1:%d/" % server.getsockname()[1]
        with urllib.request.urlopen(url) as reply:
            return reply.read() == b"x"


def lock(seconds):
    held = threading.Lock()
    held.acquire()
    later(seconds, held.release)
    return held.acquire()


def event(seconds):
    happened = threading.Event()
    later(seconds, happened.set)
    return happened.wait()


def condition(seconds):
    changed, done = threading.Condition(), []

    def change():
        with changed:
            done.append(1)
            changed.notify()

    later(seconds, change)
    with changed:
        return changed.wait_for(lambda: done, 600)


def queue_in_steps(seconds):
    incoming = queue.Queue()
    later(seconds, lambda: incoming.put(True))
    while True:
        try:
            return incoming.get(timeout=0.2)
        except queue.Empty:
            pass


def subprocess_run(seconds):
    return subprocess.run(["sleep", str(seconds)], check=True).returncode == 0


def subprocess_output(seconds):
    return subprocess.check_output(["sh", "-c", "sleep %d; echo x" % seconds]) == b"x\n"


def wait_for_child(seconds):
    child = os.fork()
    if child == 0:
        time.sleep(seconds)
        os._exit(0)
    try:
        return os.waitpid(child, 0)[0] == child
    except ChildProcessError:  # the daemon has its children reaped by the kernel
        return True


def fork_storm(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        wait_for_child(0.01)
    return True


def multiprocessing_pool(seconds):
    with multiprocessing.get_context("fork").Pool(2) as pool:
        return pool.map(time.sleep, [seconds, seconds]) == [None, None]


def thread_pool(seconds):
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return list(pool.map(time.sleep, [seconds] * 4)) == [None] * 4


def asyncio_sleep(seconds):
    async def nap():
        await asyncio.sleep(seconds)
        return True

    return asyncio.run(nap())


def file_lock(seconds, how=fcntl.flock):
    with tempfile.NamedTemporaryFile() as file:
        code = ("import fcntl, sys, time; f = open(sys.argv[1], 'w'); "
                "fcntl.%s(f, fcntl.LOCK_EX); print(flush=True); time.sleep(float(sys.argv[2]))"
                % how.__name__)
        with subprocess.Popen([sys.executable, "-c", code, file.name, str(seconds)],
                              stdout=subprocess.PIPE) as holder:
            holder.stdout.readline()
            how(file, fcntl.LOCK_EX)
            return True


def record_lock(seconds):
    return file_lock(seconds, fcntl.lockf)


def database(seconds):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "db")
        holder = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        holder.execute("CREATE TABLE t (n)")
        holder.execute("BEGIN EXCLUSIVE")
        later(seconds, lambda: holder.execute("COMMIT"))
        with sqlite3.connect(path, timeout=600) as other:
            other.execute("INSERT INTO t VALUES (1)")
        return True


def pause(seconds):
    signal.signal(signal.SIGUSR2, lambda *_: None)
    later(seconds, lambda: signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR2))
    signal.pause()
    return True


def signal_wait(seconds):
    return signal.sigtimedwait([signal.SIGUSR2], seconds) is None


def in_c(seconds):
    """A C library that sleeps without Python's knowing."""
    return ctypes.CDLL(None).usleep(int(seconds * 1_000_000)) == 0


def ioctl(seconds):
    """In an ioctl(2) until a device answers, as on a GPU. The device is a child under a seccomp
    filter: its next getppid(2) is what is waited for."""
    ours, its = socket.socketpair()
    child = os.fork()
    if child == 0:
        try:
            listener = seccomp_listener(syscall=110)
            socket.send_fds(its, [b"x"], [listener])
            os.close(listener)
            time.sleep(seconds)
            ctypes.CDLL(None).getppid()
        finally:
            os._exit(0)
    with ours, its:
        _, (listener,), _, _ = socket.recv_fds(ours, 1, 1)
        notice = bytearray(80)  # struct seccomp_notif
        fcntl.ioctl(listener, 0xC0502100, notice)  # SECCOMP_IOCTL_NOTIF_RECV
        os.close(listener)  # and the child goes on
        return int.from_bytes(notice[8:12], sys.byteorder) == child


def seccomp_listener(syscall):
    """Of the calling process, for this system call."""
    def step(code, value, if_true=0, if_false=0):
        return struct.pack("HBBI", code, if_true, if_false, value)

    user_notif, allow = 0x7FC00000, 0x7FFF0000
    program = (step(0x20, 0) + step(0x15, syscall, 0, 1) +  # load the number; is it this one?
               step(0x06, user_notif) + step(0x06, allow))
    code = ctypes.create_string_buffer(program, len(program))
    filter_ = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
    listener = libc.syscall(317, 1, 8, filter_)  # SECCOMP_SET_MODE_FILTER, _FLAG_NEW_LISTENER
    assert listener >= 0, os.strerror(ctypes.get_errno())
    return listener


def uninterruptible(seconds):
    """In state D, as in a driver: who calls vfork(2) waits so for the child. (Which has memory of its
    own, and PyDLL keeps other threads from holding the interpreter's lock when it is made.)"""
    clone_vfork, sigchld = 0x4000, signal.SIGCHLD
    child = ctypes.PyDLL(None).syscall(56, clone_vfork | sigchld, 0, 0, 0, 0)
    if child == 0:
        time.sleep(seconds)
        os._exit(0)
    return child > 0


def zmq_recv(seconds):
    import zmq

    context = zmq.Context()
    near, far = context.socket(zmq.PULL), context.socket(zmq.PUSH)
    port = near.bind_to_random_port("tcp://127.0.0.1")
    far.connect("tcp://127.0.0.1:%d" % port)
    sender = later(seconds, lambda: far.send(b"x"))
    try:
        return near.recv() == b"x"
    finally:
        sender.join()
        far.close(0)  # first: it would try for the port of the other one, which may be Spark's by then
        near.close(0)
        context.term()


def grpc_connecting(seconds):
    """Threads of gRPC poll for as long as it tries to connect."""
    import grpc

    with grpc.insecure_channel("127.0.0.1:1") as channel:
        channel.subscribe(lambda _: None, try_to_connect=True)
        try:
            grpc.channel_ready_future(channel).result(timeout=seconds)
        except grpc.FutureTimeoutError:
            return True
    return False


HEALTHY = {work.__name__: work for work in (
    sleep, spin, poll, poll_in_steps, epoll, selecting, pipe_read, recv_tcp, recv_unix,
    recv_with_timeout, recv_of_a_closed_peer, libpq, send_to_who_does_not_read, accept,
    connected_and_not_accepted, http, lock, event, condition, queue_in_steps, subprocess_run,
    subprocess_output, wait_for_child, fork_storm, multiprocessing_pool, thread_pool, asyncio_sleep,
    file_lock, record_lock, database, pause, signal_wait, in_c, ioctl, uninterruptible, zmq_recv,
    grpc_connecting)}


# ---- for ever ----


def stuck_poll():
    select.poll().poll(-1)


def stuck_epoll():
    select.epoll().poll()


def stuck_select():
    select.select([os.pipe()[0]], [], [])


def stuck_pipe():
    os.read(os.pipe()[0], 1)


def stuck_recv():
    near, far = tcp_pair()
    near.recv(1024)
    far.close()


def stuck_unix():
    near, far = socket.socketpair()
    near.recv(1)
    far.close()


def stuck_accept():
    socket.create_server(("127.0.0.1", 0)).accept()


def stuck_lock():
    held = threading.Lock()
    held.acquire()
    held.acquire()


def stuck_queue():
    """Wakes every second for nothing."""
    while True:
        try:
            queue.Queue().get(timeout=1)
        except queue.Empty:
            pass


def stuck_sleep():
    time.sleep(YEAR)


def stuck_zmq():
    inworker.zmq_term()


def stuck_grpc():
    import grpc

    channel = grpc.insecure_channel("127.0.0.1:1")
    channel.subscribe(lambda _: None, try_to_connect=True)
    threading.Event().wait()


LEAKS = {work.__name__: work for work in (
    stuck_poll, stuck_epoll, stuck_select, stuck_pipe, stuck_recv, stuck_unix, stuck_accept,
    stuck_lock, stuck_queue, stuck_sleep, stuck_zmq, stuck_grpc)}


def stay(kind, life):
    """Never comes back; in so many seconds the kernel ends it."""
    signal.alarm(life)
    LEAKS[kind]()
