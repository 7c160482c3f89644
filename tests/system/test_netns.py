# SPDX-License-Identifier: Apache-2.0
"""Hosts in a network namespace of their own, as in a container that reaper watches from outside."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator

import pytest

from harness.binary import Reaper
from harness.minihost import MiniHost, StartHost
from harness.privilege import needs_root

pytestmark = needs_root

ROW_LEFT_S = 2  # instead of a minute: how long the kernel keeps the row of an end that was closed
TIMEOUT = {"policy.timeout": f"{3 * ROW_LEFT_S}s", "reaper.interval": "1s"}


def ip(*args: str) -> None:
    subprocess.run(["ip", *args], check=True, capture_output=True, timeout=10)


@pytest.fixture
def namespace() -> Iterator[str]:
    name = f"reaper-test-{os.getpid()}"
    try:
        ip("netns", "add", name)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no network namespace can be made here: {error}")
    try:
        ip("-n", name, "link", "set", "lo", "up")
        ip("netns", "exec", name, "sysctl", "-w", f"net.ipv4.tcp_fin_timeout={ROW_LEFT_S}")
        yield name
    finally:
        ip("netns", "del", name)


@pytest.fixture
def inner_host(start_host: StartHost, namespace: str) -> MiniHost:
    return start_host(prefix=["ip", "netns", "exec", namespace])


def test_leak_is_ended(reaper: Reaper, inner_host: MiniHost) -> None:
    """The row that shows nobody's end is gone long before the leak is due: it was seen in time."""
    daemon = inner_host.daemon()
    pooled, half = daemon.open(), daemon.open()
    half.task("poll")
    half.half_close()
    with reaper.watch(inner_host, TIMEOUT) as watch:
        watch.until_event(event="sweep")
        leak, = daemon.leak()
        watch.until_event(event="action", pid=leak.pid, outcome="exited", timeout_s=30)
        assert leak.pinned.has_ended(1)
        assert half.is_alive() and pooled.serves()


def test_a_missing_row_proves_nothing(reaper: Reaper, inner_host: MiniHost) -> None:
    """One that was closed before the first look may also be half a shutdown."""
    leak, = inner_host.daemon().leak()
    time.sleep(2 * ROW_LEFT_S)
    result = reaper.audit(inner_host)
    assert result.worker(leak)["socket"] == "unknown", result
    assert result.verdict(leak)[0] == "keep", result
