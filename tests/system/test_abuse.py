# SPDX-License-Identifier: Apache-2.0
"""What a user may try to have root's reaper do that the user may not do."""

from __future__ import annotations

import os
import pathlib
import shutil
import time

import pytest

from harness.binary import DUE_S, Reaper
from harness.markers import host_record, record
from harness.minihost import MiniHost, StartHost
from harness.privilege import PRIVATE_UID, needs_root, needs_strace

pytestmark = needs_root



@pytest.fixture
def setuid_python(workdir: pathlib.Path, hosts: pathlib.Path) -> list[str]:
    """A prefix under which `python3` is a program that becomes root, as su(1) does."""
    if os.statvfs(workdir).f_flag & os.ST_NOSUID:
        pytest.skip("programs do not become another user here (nosuid)")
    real = pathlib.Path(os.path.realpath("/usr/bin/python3"))
    folder = workdir / "bin"
    folder.mkdir(mode=0o755)
    shutil.copyfile(real, folder / "python3")
    (folder / "python3").chmod(0o4755)
    (folder / "sitecustomize.py").write_text(
        "import os\nif os.geteuid() == 0:\n    os.setresuid(0, 0, 0)\n")
    return ["env", f"PATH={folder}:/usr/bin:/bin", f"PYTHONPATH={folder}:{hosts}"]


def test_setuid_program(reaper: Reaper, start_host: StartHost, setuid_python: list[str]) -> None:
    """Its argv and its sockets are the user's, its uid is root's: a user may start it, not end it."""
    host = start_host(uid=PRIVATE_UID, prefix=setuid_python)
    leak, = host.daemon().leak()
    assert os.stat(f"/proc/{leak.pid}").st_uid == 0
    time.sleep(DUE_S)
    result = reaper.sweep(host).expect(0)
    assert result.verdict(leak) == ("keep", "foreign-uid"), result
    assert leak.is_alive()


@needs_strace
def test_orphans_cost_one_walk_together(reaper: Reaper, host: MiniHost,
                                        workdir: pathlib.Path) -> None:
    """A hundred processes of one user, half of them orphans and half called java, each with many
    descriptors: what asked every java for every orphan took minutes."""
    daemon = host.daemon()
    orphans = [daemon.open() for _ in range(8)]
    for worker in orphans:
        worker.task("poll")
    daemon.pinned.kill()
    trace = workdir / "trace"
    result = reaper.audit(host, settings={"policy.sample": "0s"},
                          prefix=("strace", "-D", "-qq", "-e", "trace=open,openat", "-o",
                                  str(trace)))
    assert all(result.worker(worker)["host"] == host.pid for worker in orphans)
    pins = trace.read_text().count(f'"/proc/{host.pid}", ')
    assert pins <= 3, f"the host was opened {pins} times for {len(orphans)} orphans"


def test_endless_log(reaper: Reaper, start_host: StartHost) -> None:
    """A log that is never read to its end keeps its own user's workers waiting, and no others."""
    host = start_host(marker_log=reaper.marker_dir / "host.log")
    host.marker(host_record(host, "pool=none tasks=some"))
    worker = host.daemon().open()
    host.marker(f"begin task=1 worker={worker.identity}")
    worker.task("sleep")
    host.marker("end task=1 outcome=ok")
    theirs = reaper.marker_dir / "theirs"
    theirs.mkdir(mode=0o755)
    lines = record("done worker=1:1") * 1024
    with open(theirs / "endless.log", "w", encoding="ascii") as log:
        log.write(record(host_record(host, "pool=none tasks=some")))
        for _ in range((64 << 20) // len(lines)):
            log.write(lines)
    for path in (theirs, theirs / "endless.log"):
        os.chown(path, PRIVATE_UID, PRIVATE_UID)
    assert reaper.audit_until_due(host, worker).verdict(worker) == ("reap", "task-ended")
