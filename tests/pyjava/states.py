# SPDX-License-Identifier: Apache-2.0
"""What the tests on real pyjava bring a worker into, and how they see it go."""

import checks
import procs
from checks import POLL, reaped, settle
from pyjavahost import wait_asleep

SIGNED_OFF = {"reason": "signed-off", "fence": "signed-off", "socket": "signed-off",
              "blocked_in": "recv", "wait_forever": True}
# Of input that nobody reads, the kernel takes what it offers before a reader has read for the first
# time: at most 64 KiB (tcp_select_initial_window in net/ipv4/tcp_output.c), in whole packets.
UNREAD = 32_768
STILL = 10  # looks, a tenth of a second apart


def reaped_quietly(host, reaper, worker, **members):
    """A sweep ends it and no other; the JVM logs nothing about it, and its next task works."""
    said = host.said()
    result = reaped(host, reaper, worker, **members)
    host.healthy()
    assert host.said() == said
    return result


def failed(host, kind, why="cannot decode"):
    """Run a task whose host fails and closes nothing; its worker."""
    job = host.begin(kind)
    assert why in host.failure(job)
    return host.noted(job)


def closed(host, kind):
    """Close the task while its worker is in user code; (job, worker)."""
    job = host.begin(kind)
    worker = host.noted(job)
    if kind == "closed":
        wait_asleep(worker)
    else:
        checks.wait_blocked(worker, POLL)
    settle(0.5)  # for the input to arrive
    if kind == "closed_stuck":
        wait_stuffed(worker)
    host.open_gate(job)
    return job, worker


def wait_stuffed(worker):
    """Until its host has bytes that it takes no more of, and adds none for a second."""
    ino, seen = procs.socket_inodes(worker.pid)[3], []

    def is_still():
        rows = procs.tcp_rows(worker.pid)
        own = next(row for row in rows if int(row[9]) == ino)
        ends = [end.rpartition(":")[2] for end in (own[2], own[1])]
        peer = next(row for row in rows if [end.rpartition(":")[2] for end in row[1:3]] == ends)
        seen.append((int(peer[4].split(":")[0], 16), own[4].split(":")[1]))
        return seen[-1][0] and len(seen) > STILL and len(set(seen[-STILL:])) == 1

    procs.until(f"the input of {worker} is stuck", is_still, 20, 0.1)
