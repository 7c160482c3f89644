# SPDX-License-Identifier: Apache-2.0
"""What a user may try to have root's reaper do that the user may not do."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from harness import procs
from harness.binary import DUE_S, Reaper, Result
from harness.dead_fs import locked_process
from harness.impostor import Impostor
from harness.markers import host_record, record
from harness.minihost import MiniHost, StartHost, Worker
from harness.privilege import (PRIVATE_UID, STRANGER_UID, needs_fuse, needs_no_sanitizer,
                               needs_root, needs_strace)

pytestmark = needs_root

HANGS_S = 3
SWEEP_S = 20  # whatever a process does, a sweep is over by then
TRACER = """
import ctypes, sys
assert ctypes.CDLL(None).ptrace(0x4206, int(sys.argv[1]), None, None) == 0  # PTRACE_SEIZE
print("traced", flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def attack_is_counted(request: pytest.FixtureRequest,
                      record_property: Callable[[str, object], None]) -> None:
    if request.function.__name__ != "test_adopted_by_its_own_user":
        record_property("attack", "processes")


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
    """Its argv and its sockets are the user's, its uid is root's: a user may start it, not end it. What
    that user leaks beside it is ended all the same."""
    host, plain = start_host(uid=PRIVATE_UID, prefix=setuid_python), start_host(uid=PRIVATE_UID)
    (leak,), (control,) = host.daemon().leak(), plain.daemon().leak()
    assert os.stat(f"/proc/{leak.pid}").st_uid == 0
    reaper.wait_due(control)
    time.sleep(DUE_S)
    result = reaper.sweep((host, plain)).expect(0)
    assert result.verdict(leak) == ("keep", "foreign-uid"), result
    assert leak.is_alive() and result.acted_on == {control.pid}


@needs_strace
def test_orphans_cost_one_walk_together(reaper: Reaper, host: MiniHost,
                                        workdir: pathlib.Path) -> None:
    """Whether a java is the host of an orphan is asked of that java once for all orphans, here eight:
    where it was asked for each, many orphans beside many javas took minutes."""
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
    assert 1 <= pins <= 3, f"the host was opened {pins} times for {len(orphans)} orphans"


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


# ---- workers that are not what they were -----------------------------------------------------


def beside_a_leak(reaper: Reaper, worker: Worker, **more: Any) -> Result:
    """A sweep in which the leak next to that worker is ended, whatever the worker does."""
    leak, = worker.daemon.leak()
    reaper.audit_until_due(worker.host, leak)
    result = reaper.sweep(worker.host, timeout_s=SWEEP_S, **more).expect(0)
    assert leak.pid in result.acted_on and leak.pinned.has_ended(), result
    return result


def attacker(host: MiniHost, steps: str) -> Worker:
    """A worker whose host hung up after it did that."""
    worker = host.daemon().open()
    worker.task(steps)
    worker.close()
    return worker


def test_runs_another_program(reaper: Reaper, module_host: MiniHost) -> None:
    """It is no worker any more, and nobody's: it is not even listed."""
    worker = attacker(module_host, "exec")
    result = beside_a_leak(reaper, worker)
    assert worker.pid not in [w["pid"] for w in result.doc["workers"]] and worker.is_alive()
    explained = reaper.run("--json", "explain", str(worker.pid)).doc["explain"]
    assert explained["role"] == "other" and "no worker" in explained["why"]


def test_becomes_another_user(reaper: Reaper, module_host: MiniHost) -> None:
    """A worker of root's that has become somebody else is not ended with root's right."""
    worker = attacker(module_host, f"setuid {STRANGER_UID} then poll")
    result = beside_a_leak(reaper, worker)
    assert result.verdict(worker) == ("keep", "foreign-uid") and worker.is_alive(), result


def test_traced_by_its_own(reaper: Reaper, module_host: MiniHost) -> None:
    """Whoever may trace a worker may keep it, and it alone."""
    worker = attacker(module_host, "poll")
    with subprocess.Popen([sys.executable, "-c", TRACER, str(worker.pid)], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as tracer:
        assert tracer.stdout.readline() == b"traced\n"
        result = beside_a_leak(reaper, worker)
        assert result.verdict(worker) == ("keep", "traced") and worker.is_alive(), result
        tracer.stdin.close()
    reaper.audit_until_due(module_host, worker)


def test_wears_other_names(reaper: Reaper, module_host: MiniHost) -> None:
    """What a worker and its helper call themselves protects neither: a host has a daemon, and a daemon
    was exec'ed."""
    worker = attacker(module_host, "comm 6a617661 then helper java then argv java -jar a.jar then poll")
    assert pathlib.Path(f"/proc/{worker.pid}/cmdline").read_bytes().startswith(b"java\0-jar\0")
    reaper.audit_until_due(module_host, worker)
    assert worker.pid in beside_a_leak(reaper, worker).acted_on
    assert worker.pinned.has_ended() and worker.helpers[0].has_ended(1)


def test_stands_in_for_itself(reaper: Reaper, host: MiniHost) -> None:
    """A worker that leaves its task to a child has another parent then, and the host may go on with it:
    it belongs to nobody, and when its daemon is dead to whoever holds the other end."""
    worker, other = host.daemon().open(), host.daemon()
    reply = host.command(f"task {worker.index} stand-in")["reply"]
    stand_in = host.pin(reply["pid"])
    assert worker.pinned.has_ended(1) and stand_in.pid != worker.pid
    procs.until("its first read", lambda: procs.is_waiting(stand_in.pid, "pool"))
    result = beside_a_leak(reaper, worker)
    assert result.verdict(stand_in) == ("suspect", "lost-helper"), result
    worker.daemon.pinned.kill()
    leak, = other.leak()
    reaper.audit_until_due(host, leak)
    result = reaper.sweep(host).expect(0)
    assert result.verdict(stand_in) == ("keep", "idle") and leak.pinned.has_ended(), result
    assert host.command(f"task {worker.index} echo 3")["reply"]["pid"] == stand_in.pid


# ---- what workers leave behind ---------------------------------------------------------------


def test_grandchild_with_the_task_socket(reaper: Reaper, module_host: MiniHost) -> None:
    """It goes with its worker even where helpers do not: the host would never know."""
    worker = attacker(module_host, "grandchild then subprocess then poll")
    reaper.audit_until_due(module_host, worker)
    beside_a_leak(reaper, worker, settings={"policy.helpers": "no"})
    child, grandchild, apart = worker.helpers
    assert worker.pinned.has_ended() and child.has_ended(1) and grandchild.has_ended(1)
    assert not apart.has_ended()


def test_grandchild_that_was_left(reaper: Reaper, module_host: MiniHost) -> None:
    """With the task socket and another parent it is nobody's: reported, while its worker is ended."""
    worker = attacker(module_host, "grandchild leave then poll")
    reaper.audit_until_due(module_host, worker)
    result = beside_a_leak(reaper, worker)
    assert result.verdict(worker.helpers[0]) == ("suspect", "lost-helper"), result
    assert worker.pinned.has_ended() and not worker.helpers[0].has_ended(0.5)


def test_grandchild_that_is_adopted(reaper: Reaper, module_host: MiniHost) -> None:
    """A worker that takes its orphans back has them as helpers, and they go with it."""
    worker = attacker(module_host, "subreaper then grandchild leave then poll")
    reaper.audit_until_due(module_host, worker)
    beside_a_leak(reaper, worker)
    assert worker.pinned.has_ended() and worker.helpers[0].has_ended(1)


@pytest.mark.parametrize("steps,why", [
    (f"foreign-helper {STRANGER_UID}", "it is another user's"),
    ("unshare-pid then subprocess", "it lives in another pid namespace"),
], ids=["another user's", "of another namespace"])
def test_below_a_leak(reaper: Reaper, module_host: MiniHost, steps: str, why: str) -> None:
    """Nobody has another's process ended by having it below a leak."""
    worker = attacker(module_host, f"{steps} then poll")
    reaper.audit_until_due(module_host, worker)
    result = beside_a_leak(reaper, worker)
    action = result.action(worker.helpers[0])
    assert (action["outcome"], action["why"]) == ("spared", why), result
    assert worker.pinned.has_ended() and not worker.helpers[0].has_ended()


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


@pytest.mark.parametrize("victim", [0, STRANGER_UID], ids=["root", "stranger"])
def test_adopted_by_another_user(reaper: Reaper, host: MiniHost, hosts: pathlib.Path,
                                 victim: int) -> None:
    """Nobody has another user's process ended by becoming its parent and giving it up in a log."""
    with Impostor(hosts, PRIVATE_UID, victim) as impostor:
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
