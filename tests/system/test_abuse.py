# SPDX-License-Identifier: Apache-2.0
"""What a user may try to have root's reaper do that the user may not do."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import time

import pytest

from harness.binary import DUE_S, Reaper, Result
from harness.dead_fs import locked_process
from harness.impostor import Impostor
from harness.markers import host_record, record
from harness.minihost import MiniHost, StartHost
from harness.privilege import (PRIVATE_UID, STRANGER_UID, needs_fuse, needs_no_sanitizer,
                               needs_root, needs_strace)

pytestmark = needs_root

HANGS_S = 3


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


def bytes_read(trace: pathlib.Path, path: str) -> int:
    """From one file, by a program of which strace -y wrote the reads."""
    return sum(map(int, re.findall(rf"<{re.escape(path)}>.* = (\d+)$", trace.read_text(), re.M)))


@needs_strace
def test_eight_gibibytes_of_arguments(reaper: Reaper, host: MiniHost,
                                      workdir: pathlib.Path) -> None:
    """They are read to a limit, even for a rule that wants all of them; what a rule asks and nobody
    knows keeps, and without one the worker is ended as any other."""
    worker = host.daemon().open()
    worker.task("hugeargs then poll")
    worker.close()
    path, trace = f"/proc/{worker.pid}/cmdline", workdir / "trace"
    with open(path, "rb") as args:
        args.seek(1 << 30)
        assert len(args.read(4096)) == 4096
    reaper.audit_until_due(host, worker)
    reaper.write_config("[protect]\nargs = --precious\n")
    result = reaper.audit(host, prefix=("strace", "-f", "-y", "-qq", "-e", "trace=read", "-o",
                                        str(trace)))
    assert result.verdict(worker) == ("keep", "protected"), result
    assert 4096 < bytes_read(trace, path) < 1 << 20
    reaper.write_config("")
    reaper.sweep(host).expect(0)
    assert not worker.is_alive()


@needs_fuse
@needs_no_sanitizer  # which stops the program's threads at its end, and one of them cannot be stopped
def test_memory_that_is_locked(reaper: Reaper, host: MiniHost, workdir: pathlib.Path) -> None:
    """Whoever reads that command line waits for ever; the leak beside it is found all the same."""
    folder = workdir / "dead"
    folder.mkdir()
    leak, = host.daemon().leak()
    with locked_process(folder) as pid:
        with pytest.raises(subprocess.TimeoutExpired):
            subprocess.run(["cat", f"/proc/{pid}/cmdline"], timeout=HANGS_S, check=False)
        result = reaper.audit_until_due(host, leak)
        assert result.verdict(leak) == ("reap", "peer-closed"), result
        assert f"process {pid} does not let its command line be read" in result.err
        reaper.sweep(host).expect(0)
        assert not leak.is_alive()


@needs_fuse
@needs_no_sanitizer
def test_who_is_above_locked_memory(reaper: Reaper, host: MiniHost,
                                    workdir: pathlib.Path) -> None:
    """Whose command line cannot be read may be a daemon with workers: who is above them is kept."""
    folder = workdir / "dead"
    folder.mkdir()
    daemon = host.daemon()
    worker = daemon.open()
    worker.task(f"locked-memory {pathlib.Path(__file__).parent} {folder} then poll")
    worker.close()
    result = reaper.judge(daemon)
    assert result.verdict(worker) == ("keep", "ancestor"), result
    reaper.sweep(host).expect(0)
    assert worker.is_alive() and not any(helper.has_ended() for helper in worker.helpers)
    for helper in worker.helpers:
        helper.kill()
    reaper.audit_until_due(host, worker)


# ---- dressed as somebody's daemon ------------------------------------------------------------


def beside(reaper: Reaper, host: MiniHost, impostor: Impostor) -> Result:
    """A sweep of both, in which a leak of the honest host is ended."""
    leak, = host.daemon().leak()
    reaper.audit_until_due(host, leak)
    result = reaper.sweep((host, impostor)).expect(0)
    assert leak.pid in result.acted_on and leak.pinned.has_ended()
    return result


def test_adopted_by_its_own_user(reaper: Reaper, host: MiniHost, hosts: pathlib.Path) -> None:
    """The control: the dress is good, and whoever puts it on may end what is his anyway."""
    with Impostor(hosts, PRIVATE_UID, PRIVATE_UID) as impostor:
        reaper.audit_until_due(impostor, impostor.victim)
        assert impostor.victim.pid in beside(reaper, host, impostor).acted_on


def test_adopted_by_another_user(reaper: Reaper, host: MiniHost, hosts: pathlib.Path) -> None:
    """Nobody has another user's process ended by becoming its parent, with a log that gives it up or
    without."""
    with Impostor(hosts, PRIVATE_UID, STRANGER_UID) as impostor:
        theirs = reaper.marker_dir / "theirs"
        theirs.mkdir(mode=0o755)
        (theirs / "a.log").write_text(
            record(host_record(impostor, "pool=none tasks=all"), DUE_S)
            + record(f"retired worker={impostor.victim.pid}:{impostor.victim.start}", DUE_S))
        for path in (theirs, theirs / "a.log"):
            os.chown(path, PRIVATE_UID, PRIVATE_UID)
        result = beside(reaper, host, impostor)
        assert result.worker(impostor.victim)["fence"] == "peer-closed", result
        assert result.verdict(impostor.victim) == ("keep", "foreign-uid"), result
        assert not impostor.victim.has_ended()


def test_adopted_and_left(reaper: Reaper, host: MiniHost, hosts: pathlib.Path) -> None:
    """When he that adopted it is gone, there is nobody left from whom its uid differs."""
    with Impostor(hosts, PRIVATE_UID, STRANGER_UID) as impostor:
        with reaper.watch((host, impostor), {"reaper.interval": "1s"}) as watch:
            watch.until_event(event="verdict", pid=impostor.victim.pid, reason="foreign-uid")
            impostor.daemon.kill()
            leak, = host.daemon().leak()
            ended = watch.until_event(event="action", role="worker")
            assert ended["pid"] == leak.pid and leak.pinned.has_ended(5), watch.events()
        assert not impostor.victim.has_ended()
