# SPDX-License-Identifier: Apache-2.0
"""What the tests on real pyjava bring a worker into, and how they see it go."""

import checks
from checks import POLL, reaped, settle
from pyjavahost import wait_asleep

SIGNED_OFF = {"reason": "signed-off", "fence": "signed-off", "socket": "signed-off",
              "blocked_in": "recv", "wait_forever": True}
# Of input that nobody reads, the kernel takes what it offers before a reader has read for the first
# time: at most 64 KiB (tcp_select_initial_window in net/ipv4/tcp_output.c), in whole packets.
UNREAD = 32_768


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
    host.open_gate(job)
    return job, worker
