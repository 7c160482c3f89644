# SPDX-License-Identifier: Apache-2.0
"""Surroundings that fail: no /proc, a full disk, vanishing processes, signals at bad moments.

Steps of the wall clock are left to the unit tests: this machine's clock is not ours to set.
"""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import time
from collections.abc import Iterator

import pytest

from harness import procs
from harness.binary import DUE_S, Reaper
from harness.markers import BOOT_ID
from harness.minihost import Daemon, MiniHost, StartHost, Worker
from harness.privilege import (
    lost_signals,
    needs_mounts,
    needs_no_sanitizer,
    needs_root,
    needs_strace,
)

STORM_S = 4
DAY_S = 86400


@pytest.fixture
def daemon(host: MiniHost) -> Daemon:
    return host.daemon()


@pytest.fixture(scope="module")
def shared(module_host: MiniHost) -> Daemon:
    """For tests that look at one worker of their own and at nothing else."""
    return module_host.daemon()


def in_private_mounts(script: str) -> tuple[str, ...]:
    """A prefix that runs the rest of the command line after `script`, in mounts of its own."""
    return ("unshare", "--mount", "--propagation", "private", "sh", "-c",
            f'set -e\n{script}\nexec "$@"', "sh")


# ---- /proc ---------------------------------------------------------------------------------


@needs_mounts
@needs_no_sanitizer
@pytest.mark.parametrize("command", ["audit", "sweep", "watch", "doctor"])
@pytest.mark.parametrize("script", ["umount -l /proc", "mount -t tmpfs none /proc"])
def test_no_proc(reaper: Reaper, module_host: MiniHost, command: str, script: str) -> None:
    """Without /proc nothing can be seen: 3, one line, no crash."""
    result = reaper.run(command, host=module_host, prefix=in_private_mounts(script),
                        timeout_s=20)
    assert result.rc == 3, result
    assert "/proc" in result.err + result.out


@needs_mounts
def test_hidepid(user_reaper: Reaper, user_host: MiniHost, host: MiniHost) -> None:
    """hidepid=2: one's own trees are judged as ever, others' are not there; doctor says so."""
    leak, = user_host.daemon().leak()
    host.daemon().leak()
    user_reaper.wait_due(leak)
    hide = in_private_mounts("mount -t proc -o hidepid=2 proc /proc")
    drop = ("setpriv", f"--reuid={user_reaper.uid}", f"--regid={user_reaper.uid}",
            "--clear-groups", "--inh-caps=-all", "--bounding-set=-all")
    uid, user_reaper.uid = user_reaper.uid, None
    prefix = hide + drop
    result = user_reaper.run("--json", "audit", host=user_host, prefix=prefix).expect(1)
    assert result.verdict(leak) == ("reap", "peer-closed")
    assert user_reaper.run("audit", host=host, prefix=prefix).rc == 3
    doctor = user_reaper.run("doctor", prefix=prefix)
    assert doctor.rc == 1 and "hidepid" in doctor.out and "CAP_SYS_PTRACE" in doctor.out
    swept = user_reaper.run("--json", "sweep", host=user_host, prefix=prefix).expect(0)
    assert swept.acted_on == {leak.pid}
    user_reaper.uid = uid


# ---- disk ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def due_leak(start_module_host: StartHost) -> Worker:
    """A leak that every sweep would end, if only it could write its intent."""
    leak, = start_module_host().daemon().leak()
    time.sleep(DUE_S)
    return leak


def no_kill(reaper: Reaper, leak: Worker, settings: dict[str, str] | None = None,
            prefix: tuple[str, ...] = ()) -> None:
    """A sweep that could not write its intent ends nobody, with 3 and the path."""
    result = reaper.run("sweep", host=leak.host, settings=settings, prefix=prefix)
    assert result.rc == 3, result
    assert "audit" in result.err
    assert leak.is_alive()


def test_audit_log_is_a_directory(reaper: Reaper, due_leak: Worker) -> None:
    """No disk, no kill."""
    reaper.audit_log.mkdir()
    no_kill(reaper, due_leak)


def test_audit_log_below_a_file(reaper: Reaper, due_leak: Worker) -> None:
    """Its directory cannot be made."""
    no_kill(reaper, due_leak, {"reaper.audit_log": f"{reaper.config}/audit.jsonl"})


def test_audit_log_is_a_link(reaper: Reaper, due_leak: Worker) -> None:
    """No link is followed: it might lead to somebody else's file."""
    elsewhere = reaper.home / "elsewhere"
    elsewhere.write_text("")
    reaper.audit_log.symlink_to(elsewhere)
    no_kill(reaper, due_leak)
    assert elsewhere.read_text() == ""


@needs_mounts
def test_audit_log_read_only(reaper: Reaper, due_leak: Worker) -> None:
    """A read-only file system."""
    folder = reaper.audit_log.parent
    no_kill(reaper, due_leak, prefix=in_private_mounts(f"mount -t tmpfs -o ro none {folder}"))


@needs_mounts
def test_disk_full(reaper: Reaper, due_leak: Worker) -> None:
    """Room for nothing, then room for half a record: no torn line is taken for an intent."""
    folder = reaper.audit_log.parent
    fill = f"mount -t tmpfs -o size=8k none {folder}\nhead -c 8192 /dev/zero > {folder}/ballast"
    no_kill(reaper, due_leak, prefix=in_private_mounts(fill))
    almost = (f"mount -t tmpfs -o size=8k none {folder}\n"
              f"head -c 8100 /dev/zero | tr '\\0' '\\n' > {folder}/audit.jsonl")
    no_kill(reaper, due_leak, prefix=in_private_mounts(almost))


def test_the_control(reaper: Reaper, due_leak: Worker) -> None:
    """With a log that can be written the same leak ends."""
    assert reaper.sweep(due_leak.host).expect(0).acted_on == {due_leak.pid}


@needs_mounts
def test_state_dir_full(reaper: Reaper, daemon: Daemon) -> None:
    """A kill that cannot be counted on disk does not happen; with room for the count it does."""
    leak, = daemon.leak()
    reaper.wait_due(leak)
    fill = (f"mount -t tmpfs -o size=8k none {reaper.state_dir}\n"
            f"chmod 750 {reaper.state_dir}\ntouch {reaper.state_dir}/lock\n"
            f"chmod 640 {reaper.state_dir}/lock\n"
            f"head -c 8192 /dev/zero > {reaper.state_dir}/ballast")
    full = reaper.run("sweep", host=daemon.host, prefix=in_private_mounts(fill)).expect(3)
    assert f"nothing was ended: history in {reaper.state_dir}: No space left" in full.err, full
    assert "the count of kills cannot be written to state_dir" in full.out, full
    assert leak.is_alive()
    assert reaper.sweep(daemon.host).expect(0).acted_on == {leak.pid}


@pytest.fixture(scope="module")
def reset(shared: Daemon) -> Worker:
    """A leak whose hang-up the kernel does not date: each reaper counts from its own first look."""
    worker = shared.open()
    worker.task("poll 200000")
    worker.close()
    time.sleep(DUE_S)
    return worker


HISTORY = f"reaper-history/1 boot={BOOT_ID}\n"
BELIEVED_MS = 60_000  # what counts for longer than this test has run was taken from the file
ODD_HISTORIES = {
    "empty": "",
    "another boot": "reaper-history/1 boot=00000000-0000-4000-8000-000000000000\n"
                    "seen @ peer-closed 1 -\n",
    "another version": f"reaper-history/2 boot={BOOT_ID}\nseen @ peer-closed 1 -\n",
    "noise": "\0" * 5000,
    "torn": f"{HISTORY}seen @ peer-closed 1 -",
    "a line of nonsense": f"{HISTORY}seen @ peer-closed 1 -\nnonsense\n",
    "overflow": f"{HISTORY}seen @ peer-closed 99999999999999999999 -\n",
    "negative": f"{HISTORY}seen @ peer-closed -1 -\n",
    "the future": f"{HISTORY}seen @ peer-closed 9999999999999999 -\n",
    "overflow behind": f"{HISTORY}seen @ peer-closed 1 -\nkill 99999999999999999999\n",
    "negative behind": f"{HISTORY}seen @ peer-closed 1 -\nkill -1\n",
    "the future behind": f"{HISTORY}seen @ peer-closed 1 -\nkill 9999999999999999\n",
    "too long": HISTORY + "seen 1:1 peer-closed 1 -\n" * 20000 + "seen @ peer-closed 1 -\n",
}


def first_sweep(reaper: Reaper, worker: Worker, text: str, mode: int = 0o640) -> int:
    """Since when the hang-up counts for a sweep that finds this history, in milliseconds."""
    history = reaper.state_dir / "history"
    history.write_text(text.replace("@", worker.identity))
    history.chmod(mode)
    result = reaper.sweep(worker.host, settings={"policy.timeout": "30s"})
    assert history.read_text().startswith(HISTORY)
    assert result.verdict(worker) == ("keep", "waiting")  # it has not been blocked for longer
    return result.worker(worker)["fence_age_ms"]


@pytest.mark.parametrize("name", ODD_HISTORIES)
def test_odd_history(reaper: Reaper, reset: Worker, name: str) -> None:
    """A history that is not whole and of this boot is started afresh; it never shortens a wait."""
    assert first_sweep(reaper, reset, ODD_HISTORIES[name]) < BELIEVED_MS
    assert reset.is_alive()


@pytest.mark.parametrize("mode", [0o666, 0o660])
def test_history_others_may_write(reaper: Reaper, reset: Worker, mode: int) -> None:
    """The same for one that somebody else may have written."""
    text = f"{HISTORY}seen @ peer-closed 1 -\n"
    assert first_sweep(reaper, reset, text, mode) < BELIEVED_MS


def test_whole_history(reaper: Reaper, reset: Worker) -> None:
    """The control: the same line, whole, of this boot and ours alone, is believed."""
    assert time.clock_gettime(time.CLOCK_BOOTTIME) * 1000 > 2 * BELIEVED_MS, "booted just now"
    assert first_sweep(reaper, reset, f"{HISTORY}seen @ peer-closed 1 -\n") > BELIEVED_MS


@needs_root
def test_boot_clock_of_another_time_namespace(reaper: Reaper, daemon: Daemon) -> None:
    """A reaper whose boot clock is a day ahead must not take that day for a worker's silence."""
    leak, = daemon.leak()
    ahead = ("unshare", "--time", "--boottime", str(DAY_S), "--fork")
    result = reaper.run("--json", "sweep", host=daemon.host, prefix=ahead,
                        settings={"policy.timeout": "1h", "policy.min_age": "1h"}).expect(0)
    # that namespace shows another start of every process, too
    entry, = (w for w in result.doc["workers"] if w["pid"] == leak.pid)
    assert leak.is_alive() and entry["verdict"] == "keep"
    assert entry["fence_age_ms"] < DAY_S * 1000 and entry["age_ms"] < DAY_S * 1000


# ---- processes that come and go ------------------------------------------------------------


@contextlib.contextmanager
def fork_storm() -> Iterator[None]:
    """Two shells that fork as fast as they can, ended with the block."""
    script = "while :; do /bin/true & /bin/true; done"
    storm = [subprocess.Popen(["sh", "-c", script], start_new_session=True) for _ in range(2)]
    pins = [procs.Pinned(shell.pid) for shell in storm]
    try:
        yield
    finally:
        for pin, shell in zip(pins, storm, strict=True):
            pin.kill()
            shell.wait(10)
            pin.close()


def test_pids_that_vanish(reaper: Reaper, daemon: Daemon) -> None:
    """Processes vanish between any two reads: they are dropped, and nothing else changes."""
    pooled, leak = daemon.open(), daemon.leak()[0]
    reaper.wait_due(leak)
    with fork_storm():
        deadline = time.monotonic() + STORM_S
        while time.monotonic() < deadline:
            result = reaper.audit(daemon.host, settings={"policy.sample": "0s"}).expect(1)
            assert result.verdict(pooled) == ("keep", "idle")
            assert result.verdict(leak) == ("reap", "peer-closed")
        assert reaper.sweep(daemon.host).expect(0).acted_on == {leak.pid}
    assert pooled.serves()


@needs_strace
def test_workers_that_vanish(reaper: Reaper, daemon: Daemon) -> None:
    """Half of those who are to be ended leave by themselves between the look that plans it and the next, and
    the host opens and ends workers all the time: who is gone is told as gone, and nobody is signalled in
    his stead."""
    leaks, pooled = daemon.leak(6), daemon.open()
    reaper.wait_due(*leaks)
    gone, there = leaks[:3], leaks[3:]
    log = reaper.home / "strace"
    prefix = ("strace", "-D", "-f", "-qq", "-o", str(log), "-e", "trace=pidfd_open,getrandom",
              "-e", "inject=getrandom:delay_enter=1500000")  # the pause between the two looks
    with reaper.begin("--json", "sweep", host=daemon.host, prefix=prefix) as running:
        procs.until("all are pinned", lambda: log.exists() and log.read_text().count("pidfd_open") >= len(leaks))
        for leak in gone:
            leak.pinned.kill()
        while running.process.poll() is None:
            worker = daemon.open()
            worker.task("signoff")
            worker.close()
        result = running.result().expect(0)
    told = {row["pid"]: row["outcome"] for row in json.loads(result.out)["actions"]}
    assert told == {**dict.fromkeys((leak.pid for leak in gone), "vanished"),
                    **dict.fromkeys((leak.pid for leak in there), "exited")}, result
    assert not any(leak.is_alive() for leak in leaks)
    assert pooled.serves()


@needs_strace
def test_kernel_without_pidfds(reaper: Reaper, daemon: Daemon) -> None:
    """Then it only reports; nobody is signalled by number."""
    leak, = daemon.leak()
    reaper.wait_due(leak)
    prefix = ("strace", "-D", "-qq", "-o", "/dev/null", "-e", "trace=pidfd_open", "-e",
              "inject=pidfd_open:error=ENOSYS")
    result = reaper.sweep(daemon.host, prefix=prefix)
    assert result.verdict(leak) == ("reap", "peer-closed"), result
    action = result.action(leak)
    assert (action["signal"], action["outcome"]) == (None, "refused"), result
    assert action["why"] == "cannot be pinned: Function not implemented", result
    assert leak.is_alive()
    assert reaper.sweep(daemon.host).expect(0).acted_on == {leak.pid}


@needs_strace
def test_host_exits_during_a_sweep(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """The JVM leaves, and its daemon and workers with it, while workers are being ended."""
    leaks = daemon.leak(10)
    reaper.wait_due(*leaks)
    with reaper.begin("sweep", host=host, prefix=lost_signals(),
                      settings={"policy.term_grace": "20s"}) as running:
        procs.until("the first intent", reaper.audit_records)
        host.kill()
        result = running.result().expect(0)
    assert result.took_s < 10
    assert all(leak.pinned.has_ended(1) for leak in leaks)


# ---- signals and pipes at bad moments ------------------------------------------------------


@needs_strace
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_signal_in_the_middle_of_a_kill(reaper: Reaper, host: MiniHost, daemon: Daemon,
                                        number: int) -> None:
    """It leaves at once, no line is torn, and the next sweep finishes from fresh evidence."""
    leaks = daemon.leak(5)
    pooled = daemon.open()
    reaper.wait_due(*leaks)
    with reaper.begin("sweep", host=host, prefix=lost_signals(),
                      settings={"policy.term_grace": "30s"}) as running:
        procs.until("the first intent", reaper.audit_records)
        running.pinned.signal(number)
        assert running.pinned.has_ended(2)
        running.result()
    assert all(leak.is_alive() for leak in leaks)
    assert reaper.audit_records()
    assert reaper.sweep(host).expect(0).acted_on == {leak.pid for leak in leaks}
    assert pooled.serves()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_between_the_looks(reaper: Reaper, host: MiniHost, daemon: Daemon,
                                  number: int) -> None:
    """Who is told to stop does not first end what is due."""
    leak, = daemon.leak()
    reaper.wait_due(leak)
    with reaper.begin("sweep", host=host, settings={"policy.sample": "20s"}) as running:
        def pauses() -> bool:
            blocked = int(procs.status_field(running.pinned.pid, "SigBlk") or "0", 16)
            return bool(blocked >> (signal.SIGTERM - 1) & 1)

        procs.until("it waits for signals", pauses, 30)
        time.sleep(0.5)
        told = time.monotonic()
        running.pinned.signal(number)
        running.result().expect(3)
    assert time.monotonic() - told < 10
    assert leak.is_alive() and reaper.audit_records() == []


def shell(reaper: Reaper, host: MiniHost, command: str, rest: str) -> subprocess.CompletedProcess:
    argv = reaper.argv((*command.split(),), (host,), None)
    script = f'set -o pipefail; "$@" {rest}'
    return subprocess.run(["bash", "-c", script, "bash", *argv], env=reaper.environment(),
                          capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("command", ["audit", "--json audit", "-v audit", "doctor"])
def test_broken_pipe(reaper: Reaper, module_host: MiniHost, command: str) -> None:
    """`reaper audit | head -1`: no noise, no hang."""
    module_host.daemon().leak(20)
    done = shell(reaper, module_host, command, "| head -n 1 >/dev/null")
    assert done.stderr == ""
    assert done.returncode in (0, 1, 128 + signal.SIGPIPE)
    done = shell(reaper, module_host, command, "| true")
    assert done.stderr == ""


def test_broken_pipe_does_not_stop_a_sweep(reaper: Reaper, host: MiniHost,
                                           daemon: Daemon) -> None:
    """Whoever reads its output leaves; what was begun is finished and told."""
    leaks = daemon.leak(5)
    reaper.wait_due(*leaks)
    shell(reaper, host, "-v sweep", "| true")
    assert all(leak.pinned.has_ended(1) for leak in leaks)
    assert len(reaper.audit_records()) == 10


@pytest.mark.parametrize("closing", [">&-", "<&- >&- 2>&-"])
def test_closed_descriptors(reaper: Reaper, host: MiniHost, daemon: Daemon,
                            closing: str) -> None:
    """With 0, 1 or 2 closed no file of ours takes their place and gets a message written to it."""
    leak, = daemon.leak()
    reaper.wait_due(leak)
    shell(reaper, host, "-v sweep", closing)
    assert leak.pinned.has_ended(1)
    assert [r["record"] for r in reaper.audit_records()] == ["intent", "outcome"]
    assert (reaper.state_dir / "history").read_text().startswith("reaper-history/1 ")


def sweep_with_descriptors(reaper: Reaper, leaks: list[Worker], count: int) -> set[int]:
    """A sweep with too few of them for all the leaks: whom it ended. The others are told and live."""
    result = reaper.sweep(leaks[0].host, prefix=("prlimit", f"--nofile={count}:{count}")).expect(1)
    ended = result.acted_on
    assert all(leak.pinned.has_ended(1) == (leak.pid in ended) for leak in leaks), result
    refused = {a["pid"]: (a["outcome"], a["why"]) for a in result.doc["actions"]
               if a["pid"] not in ended}
    why = "cannot be pinned: Too many open files"
    assert refused == {leak.pid: ("refused", why) for leak in leaks if leak.pid not in ended}
    assert result.doc["summary"]["reap"] == len(leaks), result
    return ended


def test_few_descriptors(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """Out of descriptors: who cannot be pinned is told and lives, and nobody wrong is hit."""
    pooled = daemon.open()
    leaks = daemon.leak(20)
    reaper.wait_due(*leaks)
    assert sweep_with_descriptors(reaper, leaks, 16) == set()
    ended = sweep_with_descriptors(reaper, leaks, 48)
    assert 0 < len(ended) < len(leaks)
    intents = [r["pid"] for r in reaper.audit_records() if r["record"] == "intent"]
    assert len(intents) == len(ended) and set(intents) == ended
    assert pooled.serves()
    left = {leak.pid for leak in leaks} - ended
    assert reaper.sweep(host).expect(0).acted_on == left
    assert pooled.serves()


def test_hostile_names(reaper: Reaper, shared: Daemon) -> None:
    """Workers name themselves as they like: brackets, newlines, escapes, bytes that are no text."""
    names = [b")", b"a) Z 1", b"\n", b"\033[31m", b"\xff", b") S\n)", b'"', b"\\n"]
    workers = [shared.open() for _ in names]
    for name, worker in zip(names, workers, strict=True):
        worker.task(f"comm {name.hex()} then poll")
        worker.close()
    result = reaper.audit_until_due(shared.host, *workers)
    assert {result.verdict(worker) for worker in workers} == {("reap", "peer-closed")}
    for args in (("audit",), *(("explain", str(worker.pid)) for worker in workers)):
        text = reaper.run("-v", *args, host=shared.host).out
        assert all(c == "\n" or c >= " " for c in text), repr(text)
