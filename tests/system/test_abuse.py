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
from harness.binary import DUE_S, Hosts, Reaper, Result
from harness.dead_fs import locked_process
from harness.impostor import Impostor
from harness.markers import host_record, record
from harness.minihost import Daemon, MiniHost, StartHost, Worker
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


# Why each fails: a verdict and its reason, what a helper is spared for, or what a user is told.
REASONS = {
    "test_setuid_program": "keep foreign-uid",
    "test_becomes_another_user": "keep foreign-uid",
    "test_adopted_by_another_user[root]": "keep foreign-uid",
    "test_adopted_by_another_user[stranger]": "keep foreign-uid",
    "test_adopted_and_left": "keep foreign-uid",
    "test_below_a_leak[another user's]": "it is another user's",
    "test_below_a_leak[of another namespace]": "it lives in another pid namespace",
    "test_runs_another_program": "it is no worker",
    "test_traced_by_its_own": "keep traced",
    "test_who_is_above_locked_memory": "keep ancestor",
    "test_memory_that_is_locked": "does not let its command line be read",
    "test_eight_gibibytes_of_arguments": "keep protected",
    "test_endless_log": "longer than one sweep reads",
    "test_orphans_cost_one_walk_together": "keep idle",
    "test_stands_in_for_itself": "suspect lost-helper",
    "test_grandchild_that_was_left": "suspect lost-helper",
    "test_wears_other_names": "reap peer-closed",
    "test_grandchild_with_the_task_socket": "reap peer-closed",
    "test_grandchild_that_is_adopted": "reap peer-closed",
}
# Those that are rightly told alike, and why.
ALIKE = {
    "keep foreign-uid": "Five ways to have a process below a daemon that is another user's: whose it is, is "
                        "all that tells it from a worker, and all that is asked.",
    "suspect lost-helper": "Whoever has a task socket and a parent that is no daemon may have come by both in "
                           "any way: neither is ended, and how it came there cannot be seen.",
    "reap peer-closed": "Disguises, and places for a socket to hide in: they fail by being no reason at all. The "
                        "worker goes by the proof that it would have gone by without them, and its helper with it.",
}
CONTROLS = ("test_adopted_by_its_own_user", "test_each_has_its_reason")


@pytest.fixture(autouse=True)
def attack_is_counted(request: pytest.FixtureRequest,
                      record_property: Callable[[str, object], None]) -> None:
    if request.function.__name__ not in CONTROLS:
        record_property("attack", "processes")
        assert request.node.name in REASONS


@pytest.fixture
def reason(request: pytest.FixtureRequest) -> str:
    """Why this attack has to fail."""
    return REASONS[request.node.name]


def verdict(result: Result, who: Any) -> str:
    """As the table writes it."""
    return " ".join(result.verdict(who))


def swept(reaper: Reaper, hosts: Hosts, **more: Any) -> Result:
    """A sweep that is over in time."""
    return reaper.sweep(hosts, timeout_s=SWEEP_S, **more).expect(0)


def test_each_has_its_reason() -> None:
    """No reason for two attacks, but those that are rightly told alike."""
    told = list(REASONS.values())
    assert {text for text in told if told.count(text) > 1} == set(ALIKE)


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


def test_setuid_program(reaper: Reaper, start_host: StartHost, setuid_python: list[str],
                        reason: str) -> None:
    """Its argv and its sockets are the user's, its uid is root's: a user may start it, not end it. What
    that user leaks beside it is ended all the same."""
    host, plain = start_host(uid=PRIVATE_UID, prefix=setuid_python), start_host(uid=PRIVATE_UID)
    (leak,), (control,) = host.daemon().leak(), plain.daemon().leak()
    assert os.stat(f"/proc/{leak.pid}").st_uid == 0
    reaper.wait_due(control)
    time.sleep(DUE_S)
    result = swept(reaper, (host, plain))
    assert verdict(result, leak) == reason, result
    assert leak.is_alive() and result.acted_on == {control.pid}


@needs_strace
def test_orphans_cost_one_walk_together(reaper: Reaper, host: MiniHost, workdir: pathlib.Path,
                                        reason: str) -> None:
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
    assert {verdict(result, worker) for worker in orphans} == {reason}, result
    pins = trace.read_text().count(f'"/proc/{host.pid}", ')
    assert 1 <= pins <= 3, f"the host was opened {pins} times for {len(orphans)} orphans"


def test_endless_log(reaper: Reaper, start_host: StartHost, reason: str) -> None:
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
    assert reason in reaper.run("--json", "doctor", host=host).out


def bytes_read(trace: pathlib.Path, path: str) -> int:
    """From one file, by a program of which strace -y wrote the reads."""
    return sum(map(int, re.findall(rf"<{re.escape(path)}>.* = (\d+)$", trace.read_text(), re.M)))


@needs_strace
def test_eight_gibibytes_of_arguments(reaper: Reaper, host: MiniHost, workdir: pathlib.Path,
                                      reason: str) -> None:
    """They are read to a limit, even for a rule that wants all of them; what a rule asks and nobody
    knows keeps, while the leak beside it goes, and without a rule the worker is ended as any other."""
    worker = host.daemon().open()
    worker.task("hugeargs then poll")
    worker.close()
    path, trace = f"/proc/{worker.pid}/cmdline", workdir / "trace"
    with open(path, "rb") as args:
        args.seek(1 << 30)
        assert len(args.read(4096)) == 4096
    reaper.audit_until_due(host, worker)
    reaper.write_config("[protect]\nargs = --precious\n")
    result = beside_a_leak(reaper, worker, prefix=("strace", "-f", "-y", "-qq", "-e", "trace=read",
                                                   "-o", str(trace)))
    assert verdict(result, worker) == reason and worker.is_alive(), result
    assert 4096 < bytes_read(trace, path) < 1 << 20
    reaper.write_config("")
    assert swept(reaper, host).acted_on == {worker.pid} and not worker.is_alive()


@needs_fuse
@needs_no_sanitizer  # which stops the program's threads at its end, and one of them cannot be stopped
def test_memory_that_is_locked(reaper: Reaper, host: MiniHost, workdir: pathlib.Path,
                               reason: str) -> None:
    """Whoever reads that command line waits for ever; the leak beside it is found all the same."""
    folder = workdir / "dead"
    folder.mkdir()
    leak, = host.daemon().leak()
    with locked_process(folder) as pid:
        with pytest.raises(subprocess.TimeoutExpired):
            subprocess.run(["cat", f"/proc/{pid}/cmdline"], timeout=HANGS_S, check=False)
        result = reaper.audit_until_due(host, leak)
        assert result.verdict(leak) == ("reap", "peer-closed"), result
        assert f"process {pid} {reason}" in result.err
        swept(reaper, host)
        assert not leak.is_alive()


@needs_fuse
@needs_no_sanitizer
def test_who_is_above_locked_memory(reaper: Reaper, host: MiniHost, workdir: pathlib.Path,
                                    reason: str) -> None:
    """Whose command line cannot be read may be a daemon with workers: who is above them is kept."""
    folder = workdir / "dead"
    folder.mkdir()
    daemon = host.daemon()
    worker = daemon.open()
    worker.task(f"locked-memory {pathlib.Path(__file__).parent} {folder} then poll")
    worker.close()
    result = reaper.judge(daemon)
    assert verdict(result, worker) == reason, result
    beside_a_leak(reaper, worker, host.daemon())
    assert worker.is_alive() and not any(helper.has_ended() for helper in worker.helpers)
    for helper in worker.helpers:
        helper.kill()
    reaper.audit_until_due(host, worker)


# ---- workers that are not what they were -----------------------------------------------------


def beside_a_leak(reaper: Reaper, worker: Worker, daemon: Daemon | None = None, **more: Any) -> Result:
    """A sweep in which the leak next to that worker is ended, whatever the worker does."""
    leak, = (daemon or worker.daemon).leak()
    reaper.audit_until_due(worker.host, leak)
    result = swept(reaper, worker.host, **more)
    assert leak.pid in result.acted_on and leak.pinned.has_ended(), result
    return result


def attacker(host: MiniHost, steps: str) -> Worker:
    """A worker whose host hung up after it did that."""
    worker = host.daemon().open()
    worker.task(steps)
    worker.close()
    return worker


def test_runs_another_program(reaper: Reaper, module_host: MiniHost, reason: str) -> None:
    """It is no worker any more, and nobody's: it is not even listed."""
    worker = attacker(module_host, "exec")
    result = beside_a_leak(reaper, worker)
    assert worker.pid not in [w["pid"] for w in result.doc["workers"]] and worker.is_alive()
    explained = reaper.run("--json", "explain", str(worker.pid)).doc["explain"]
    assert explained["role"] == "other" and reason in explained["why"]


def test_becomes_another_user(reaper: Reaper, module_host: MiniHost, reason: str) -> None:
    """A worker of root's that has become somebody else is not ended with root's right."""
    worker = attacker(module_host, f"setuid {STRANGER_UID} then poll")
    result = beside_a_leak(reaper, worker)
    assert verdict(result, worker) == reason and worker.is_alive(), result


def test_traced_by_its_own(reaper: Reaper, module_host: MiniHost, reason: str) -> None:
    """Whoever may trace a worker may keep it, and it alone."""
    worker = attacker(module_host, "poll")
    with subprocess.Popen([sys.executable, "-c", TRACER, str(worker.pid)], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as tracer:
        assert tracer.stdout.readline() == b"traced\n"
        result = beside_a_leak(reaper, worker)
        assert verdict(result, worker) == reason and worker.is_alive(), result
        tracer.stdin.close()
    reaper.audit_until_due(module_host, worker)


def test_wears_other_names(reaper: Reaper, module_host: MiniHost, reason: str) -> None:
    """What a worker and its helper call themselves protects neither: a host has a daemon, and a daemon
    was exec'ed."""
    worker = attacker(module_host, "comm 6a617661 then helper java then argv java -jar a.jar then poll")
    assert pathlib.Path(f"/proc/{worker.pid}/cmdline").read_bytes().startswith(b"java\0-jar\0")
    reaper.audit_until_due(module_host, worker)
    result = beside_a_leak(reaper, worker)
    assert worker.pid in result.acted_on and verdict(result, worker) == reason, result
    assert worker.pinned.has_ended() and worker.helpers[0].has_ended(1)


def test_stands_in_for_itself(reaper: Reaper, host: MiniHost, reason: str) -> None:
    """A worker that leaves its task to a child has another parent then, and the host may go on with it:
    it belongs to nobody, and when its daemon is dead to whoever holds the other end."""
    worker, other = host.daemon().open(), host.daemon()
    reply = host.command(f"task {worker.index} stand-in")["reply"]
    stand_in = host.pin(reply["pid"])
    assert worker.pinned.has_ended(1) and stand_in.pid != worker.pid
    procs.until("its first read", lambda: procs.is_waiting(stand_in.pid, "pool"))
    result = beside_a_leak(reaper, worker)
    assert verdict(result, stand_in) == reason, result
    worker.daemon.pinned.kill()
    leak, = other.leak()
    reaper.audit_until_due(host, leak)
    result = swept(reaper, host)
    assert result.verdict(stand_in) == ("keep", "idle") and leak.pinned.has_ended(), result
    assert host.command(f"task {worker.index} echo 3")["reply"]["pid"] == stand_in.pid


# ---- what workers leave behind ---------------------------------------------------------------


def test_grandchild_with_the_task_socket(reaper: Reaper, module_host: MiniHost,
                                         reason: str) -> None:
    """It goes with its worker even where helpers do not: the host would never know."""
    worker = attacker(module_host, "grandchild then subprocess then poll")
    reaper.audit_until_due(module_host, worker)
    result = beside_a_leak(reaper, worker, settings={"policy.helpers": "no"})
    assert verdict(result, worker) == reason, result
    child, grandchild, apart = worker.helpers
    assert worker.pinned.has_ended() and child.has_ended(1) and grandchild.has_ended(1)
    assert not apart.has_ended()


def test_grandchild_that_was_left(reaper: Reaper, module_host: MiniHost, reason: str) -> None:
    """With the task socket and another parent it is nobody's: reported, while its worker is ended."""
    worker = attacker(module_host, "grandchild leave then poll")
    reaper.audit_until_due(module_host, worker)
    result = beside_a_leak(reaper, worker)
    assert verdict(result, worker.helpers[0]) == reason, result
    assert worker.pinned.has_ended() and not worker.helpers[0].has_ended(0.5)


def test_grandchild_that_is_adopted(reaper: Reaper, module_host: MiniHost, reason: str) -> None:
    """A worker that takes its orphans back has them as helpers, and they go with it."""
    worker = attacker(module_host, "subreaper then grandchild leave then poll")
    reaper.audit_until_due(module_host, worker)
    assert verdict(beside_a_leak(reaper, worker), worker) == reason
    assert worker.pinned.has_ended() and worker.helpers[0].has_ended(1)


@pytest.mark.parametrize("steps", [
    f"foreign-helper {STRANGER_UID}", "unshare-pid then subprocess",
], ids=["another user's", "of another namespace"])
def test_below_a_leak(reaper: Reaper, module_host: MiniHost, steps: str, reason: str) -> None:
    """Nobody has another's process ended by having it below a leak."""
    worker = attacker(module_host, f"{steps} then poll")
    reaper.audit_until_due(module_host, worker)
    result = beside_a_leak(reaper, worker)
    action = result.action(worker.helpers[0])
    assert (action["outcome"], action["why"]) == ("spared", reason), result
    assert worker.pinned.has_ended() and not worker.helpers[0].has_ended()


# ---- dressed as somebody's daemon ------------------------------------------------------------


def beside(reaper: Reaper, host: MiniHost, impostor: Impostor) -> Result:
    """A sweep of both, in which a leak of the honest host is ended."""
    leak, = host.daemon().leak()
    reaper.audit_until_due(host, leak)
    result = swept(reaper, (host, impostor))
    assert leak.pid in result.acted_on and leak.pinned.has_ended()
    return result


def test_adopted_by_its_own_user(reaper: Reaper, host: MiniHost, hosts: pathlib.Path) -> None:
    """The control: the dress is good, and whoever puts it on may end what is his anyway."""
    with Impostor(hosts, PRIVATE_UID, PRIVATE_UID) as impostor:
        reaper.audit_until_due(impostor, impostor.victim)
        assert impostor.victim.pid in beside(reaper, host, impostor).acted_on


@pytest.mark.parametrize("victim", [0, STRANGER_UID], ids=["root", "stranger"])
def test_adopted_by_another_user(reaper: Reaper, host: MiniHost, hosts: pathlib.Path, victim: int,
                                 reason: str) -> None:
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
        assert verdict(result, impostor.victim) == reason, result
        assert not impostor.victim.has_ended()


def test_adopted_and_left(reaper: Reaper, host: MiniHost, hosts: pathlib.Path, reason: str) -> None:
    """When he that adopted it is gone, there is nobody left from whom its uid differs."""
    with Impostor(hosts, PRIVATE_UID, STRANGER_UID) as impostor:
        with reaper.watch((host, impostor), {"reaper.interval": "1s"}) as watch:
            found = watch.until_event(event="verdict", pid=impostor.victim.pid, fence="peer-closed")
            assert f"{found['verdict']} {found['reason']}" == reason
            impostor.daemon.kill()
            leak, = host.daemon().leak()
            ended = watch.until_event(event="action", role="worker")
            assert ended["pid"] == leak.pid and leak.pinned.has_ended(5), watch.events()
        assert not impostor.victim.has_ended()
