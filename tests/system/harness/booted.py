# SPDX-License-Identifier: Apache-2.0
"""A systemd that is the first process of its own namespaces: it runs units as they are shipped, and
nothing of it outlives it or reaches out of them."""

from __future__ import annotations

import errno
import os
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from harness import procs
from harness.binary import ROOT
from harness.folders import public_folder

SYSTEMD = pathlib.Path("/lib/systemd/systemd")
CGROUPS = pathlib.Path("/sys/fs/cgroup")
INSIDE = "/run/test"  # what the folder is called in there
UNITS = ("reaper.service", "reaper.socket", "reaper-sweep.service", "reaper-sweep.socket")

# / cannot be written, what it writes is gone with it, and it wants no other unit than it is told.
BOOT = f"""
set -e
mount --make-rprivate /
mount -t proc proc /proc
mount --bind /proc/sys /proc/sys
mount -o remount,bind,ro /proc/sys
mount -t tmpfs tmpfs /run
mkdir {INSIDE}
mount --bind "$1" {INSIDE}
for dir in /tmp /var/log /var/tmp /var/lib/systemd /etc/systemd /lib/systemd/system-generators \\
	/lib/systemd/system/*.wants; do
	mount -t tmpfs tmpfs "$dir"
done
if [ -d /sys/fs/cgroup/systemd ]; then
	umount -l /sys/fs/cgroup
	mount -t tmpfs tmpfs /sys/fs/cgroup
	mkdir /sys/fs/cgroup/systemd /sys/fs/cgroup/unified
	mount -t cgroup -o none,name=systemd cgroup /sys/fs/cgroup/systemd
	mount -t cgroup2 cgroup /sys/fs/cgroup/unified
else
	umount -l /sys/fs/cgroup
	mount -t cgroup2 cgroup /sys/fs/cgroup
fi
mkdir /etc/systemd/system
cp {INSIDE}/units/* /etc/systemd/system
mount -o remount,bind,ro /sys
mount -o remount,bind,ro /
exec env -i container=reaper-test PATH=/usr/sbin:/usr/bin:/sbin:/bin {SYSTEMD} --system \\
	--unit=empty.target --log-target=console --show-status=no
"""


def why_not() -> str:
    """The reason for which there can be none here, or nothing."""
    if os.geteuid() != 0:
        return "needs root"
    if not SYSTEMD.exists():
        return f"needs {SYSTEMD}"
    try:
        with own_cgroup():
            done = subprocess.run(
                ["unshare", "--fork", "--pid", "--mount", "--uts", "--ipc", "--cgroup", "mount",
                 "-t", "proc", "proc", "/proc"], check=False, capture_output=True, text=True)
            return f"needs namespaces: {done.stderr}" if done.returncode else ""
    except OSError as error:
        return f"needs a control group of its own: {error}"


def is_gone(group: pathlib.Path) -> bool:
    """Whether a control group, which is empty a moment after the end of its processes, could be removed."""
    try:
        for below in sorted(group.rglob("*"), reverse=True):
            if below.is_dir():
                below.rmdir()
        if group.is_dir():
            group.rmdir()
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        return False
    return True


@contextmanager
def own_cgroup() -> Iterator[list[pathlib.Path]]:
    """Control groups for a systemd: they are gone, with all below, when it is."""
    trees = [CGROUPS / name for name in ("systemd", "unified") if (CGROUPS / name).is_dir()]
    made = [tree / f"reaper-test-{os.getpid()}" for tree in trees or [CGROUPS]]
    try:
        for path in made:
            path.mkdir()
        yield made
    finally:
        for path in made:
            procs.until(f"nobody is in {path}", lambda path=path: is_gone(path))


class Booted:
    """It, and a folder of ours that it sees as /run/test."""

    def __init__(self, folder: pathlib.Path, groups: list[pathlib.Path]) -> None:
        self.log = folder / "boot.log"

        def enter() -> None:
            for path in groups:
                (path / "cgroup.procs").write_text(str(os.getpid()))

        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                ["unshare", "--fork", "--kill-child", "--pid", "--mount", "--uts", "--ipc",
                 "--cgroup", "sh", "-c", BOOT, "sh", str(folder)],
                preexec_fn=enter, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.pinned = procs.Pinned(self.process.pid)

    def first(self) -> int:
        """The number that its first process has out here."""
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return int(children.read_text().split()[0])

    def run(self, *argv: str, timeout_s: float = 30) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["nsenter", "-t", str(self.first()), "--mount", "--root", "--pid", "--uts", "--ipc",
             "--cgroup",
             *argv], check=False, capture_output=True, text=True, timeout=timeout_s,
            stdin=subprocess.DEVNULL, cwd="/")

    def is_up(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        try:
            return self.run("systemctl", "is-active", "empty.target").returncode == 0
        except (IndexError, OSError):
            return False

    def finish(self) -> None:
        """With unshare(1) its child ends, with the first process of a pid namespace all others."""
        if self.process.poll() is None:
            self.pinned.kill()
            self.process.wait(10)
        self.pinned.close()


@contextmanager
def booted(hosts: pathlib.Path, binary: pathlib.Path) -> Iterator[Booted]:
    """A systemd with our units, and this harness, the binary and the mini host in its /run/test."""
    folder = public_folder("booted")
    units = folder / "units"
    units.mkdir()
    (units / "empty.target").write_text("[Unit]\nDefaultDependencies=no\n")
    for name in UNITS:
        text = (ROOT / "etc" / name).read_text()
        (units / name).write_text(text.replace("/usr/sbin/reaper", f"{INSIDE}/reaper"))
    shutil.copy2(binary, folder / "reaper")
    shutil.copytree(hosts, folder / "hosts")
    shutil.copytree(pathlib.Path(__file__).parent, folder / "harness",
                    ignore=shutil.ignore_patterns("__pycache__"))
    try:
        with own_cgroup() as groups:
            one = Booted(folder, groups)
            try:
                procs.until("systemd is up", one.is_up, 60)
                yield one
            finally:
                one.finish()
    finally:
        shutil.rmtree(folder)


def python(one: Booted, module: str, *args: str,
           timeout_s: float = 120) -> subprocess.CompletedProcess[str]:
    """A module of this harness, in there."""
    return one.run("env", f"PYTHONPATH={INSIDE}", "PYTHONDONTWRITEBYTECODE=1", sys.executable, "-m",
                   module, *args, timeout_s=timeout_s)
