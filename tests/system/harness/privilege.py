# SPDX-License-Identifier: Apache-2.0
"""What these tests may do here, and the one-line reason to skip where they may not."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess

import pytest

FREEZER = pathlib.Path("/sys/fs/cgroup/freezer")


def can_unshare_mounts() -> bool:
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        return False
    done = subprocess.run(["unshare", "--mount", "true"], check=False, capture_output=True)
    return done.returncode == 0


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
needs_mounts = pytest.mark.skipif(
    not can_unshare_mounts(), reason="needs root and a mount namespace of its own")
needs_freezer = pytest.mark.skipif(
    os.geteuid() != 0 or not os.access(FREEZER / "cgroup.procs", os.W_OK),
    reason="needs root and the freezer of cgroup v1")
needs_no_sanitizer = pytest.mark.skipif(
    "ASAN_OPTIONS" in os.environ, reason="a sanitizer's runtime cannot do without /proc itself")
needs_fuse = pytest.mark.skipif(
    not can_unshare_mounts() or not os.access("/dev/fuse", os.R_OK | os.W_OK),
    reason="needs root and /dev/fuse")
needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")

def lost_signals(which: str = "1+") -> tuple[str, ...]:
    """A prefix under which some of reaper's signals are lost, though the kernel says they were
    sent: a worker that does not end.  `which` is as in strace's `when=`; reaper keeps its pid."""
    return ("strace", "-D", "-qq", "-o", "/dev/null", "-e", "trace=pidfd_send_signal", "-e",
            f"inject=pidfd_send_signal:retval=0:when={which}")


# An id that no account has: a reaper that runs under it can signal what it started, no more.
PRIVATE_UID = 61184 + os.getpid() % 3000
STRANGER_UID = PRIVATE_UID + 3000
