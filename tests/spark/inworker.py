# SPDX-License-Identifier: Apache-2.0
"""What the tests' jobs do inside a Python worker of Spark.

The driver ships these functions by value, so a worker needs nothing of the tests on its path.
Every function that may stay behind sets an alarm first: should the test run itself be killed,
the kernel ends the worker after LIFE seconds; a pending alarm changes nothing in what it waits for.
"""

import json
import multiprocessing
import os
import select
import signal
import time

LIFE = 900
ROW = 300_000  # more than the 64 KiB that Python's side of the socket buffers


def identity():
    """(pid, start ticks) of the calling process."""
    with open("/proc/self/stat", "rb") as stat:
        fields = stat.read().rpartition(b")")[2].split()
    return os.getpid(), int(fields[19])


def note(where, label):
    """Leave this process's identity, and the milliseconds since boot, in the file `label` of the
    folder `where`."""
    aside = os.path.join(where, f".{label}.{os.getpid()}")
    with open(aside, "w", encoding="ascii") as out:
        json.dump([*identity(), time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000], out)
    os.rename(aside, os.path.join(where, label))
    return identity()


def await_file(where, label, seconds=300.0):
    """Sleep in short steps until the file `label` is there."""
    path = os.path.join(where, label)
    end = time.monotonic() + seconds
    while not os.path.exists(path):
        if time.monotonic() > end:
            raise TimeoutError(label)
        time.sleep(0.05)


def block():
    """Wait for ever in poll(NULL, 0, -1)."""
    signal.alarm(LIFE)
    select.poll().poll(-1)


def spin(where, label):
    """Burn CPU until the file `label` is there; look for it every few milliseconds only."""
    path = os.path.join(where, label)
    n = 0
    while not os.path.exists(path):
        for _ in range(100_000):
            n += 1
    return n


class Wake(Exception):
    """Raised by the signal that ends `long_sleep` early."""


def long_sleep():
    """time.sleep(600), which the test ends with SIGUSR1."""

    def wake(*_):
        raise Wake

    signal.signal(signal.SIGUSR1, wake)
    try:
        time.sleep(600)
    except Wake:
        pass


def zmq_term():
    """ctx.term() with a message that lingers for a peer which never comes: on no port that the kernel gives
    away, else it comes to a server of Spark's, each of which takes the first that connects."""
    import zmq

    signal.alarm(max(LIFE, signal.alarm(0)))  # unless there is a later one
    context = zmq.Context()
    push = context.socket(zmq.PUSH)
    push.connect("tcp://127.0.0.1:1")
    push.send(b"nobody reads this")
    push.close(linger=-1)
    context.term()


def helper_body(where, label):
    """A multiprocessing child: it keeps every descriptor that its worker had."""
    note(where, label)
    block()


def start_helper(where, label):
    """Fork a multiprocessing child and come back once it has left its identity."""
    fork = multiprocessing.get_context("fork")
    child = fork.Process(target=helper_body, args=(where, label))
    child.start()
    await_file(where, label, 30.0)
