# SPDX-License-Identifier: Apache-2.0
"""An ordinary user without any capability: one's own trees in full, others' clearly refused."""

from __future__ import annotations

import shutil
import time

import pytest

from harness.binary import DUE_S, Reaper
from harness.markers import host_record, operator_record, record
from harness.minihost import MiniHost, StartHost
from harness.privilege import PRIVATE_UID, STRANGER_UID, needs_root

pytestmark = needs_root



def test_own_tree(user_reaper: Reaper, user_host: MiniHost) -> None:
    """audit, explain and sweep work without any privilege."""
    daemon = user_host.daemon()
    pooled, leak = daemon.open(), daemon.leak()[0]
    result = user_reaper.audit_until_due(user_host, leak)
    assert result.verdict(leak) == ("reap", "peer-closed")
    assert result.verdict(pooled) == ("keep", "idle")
    explained = user_reaper.run("--json", "explain", str(leak.pid)).expect(0)
    assert explained.doc["explain"]["role"] == "worker"
    swept = user_reaper.sweep(user_host).expect(0)
    assert swept.acted_on == {leak.pid}
    assert [r["record"] for r in user_reaper.audit_records()] == ["intent", "outcome"]
    assert pooled.serves()


def test_own_markers(user_reaper: Reaper, start_host: StartHost) -> None:
    """A user's own logs, and that user's word, count for that user's workers."""
    host = start_host(uid=PRIVATE_UID, marker_log=user_reaper.marker_dir / "host.log")
    host.marker(host_record(host, "pool=unknown tasks=some"))
    daemon = host.daemon()
    by_host, by_operator, other = daemon.open(), daemon.open(), daemon.open()
    host.marker(f"retired worker={by_host.identity}")
    user_reaper.run("retire", str(by_operator.pid)).expect(0)
    user_reaper.wait_due(by_host, by_operator)
    assert user_reaper.sweep(host).expect(0).acted_on == {by_host.pid, by_operator.pid}
    assert other.serves()


def test_default_paths(user_reaper: Reaper, user_host: MiniHost) -> None:
    """Without a configuration everything goes to the user's own directories."""
    leak, = user_host.daemon().leak()
    user_reaper.wait_due(leak)
    argv = [str(user_reaper.binary), "--host", str(user_host.pid), "--set", "policy.timeout=1s",
            "--set", "policy.min_age=1s", "--set", "policy.sample=100ms", "sweep"]
    user_reaper.run_argv(argv).expect(0)
    assert leak.pinned.has_ended(1)
    home = user_reaper.home
    assert (home / "xdg-run" / "reaper" / "history").exists()
    assert len((home / "xdg-state" / "reaper" / "audit.jsonl").read_text().splitlines()) == 2


def test_foreign_host(user_reaper: Reaper, host: MiniHost) -> None:
    """Another user's JVM by name: 3, and why."""
    leak, = host.daemon().leak()
    time.sleep(DUE_S)
    for command in ("audit", "sweep"):
        result = user_reaper.run(command, host=host)
        assert result.rc == 3, result
        assert str(host.pid) in result.err
    assert leak.is_alive()


def test_foreign_trees_are_counted(user_reaper: Reaper, user_host: MiniHost,
                                   host: MiniHost) -> None:
    """Without --host: one's own tree, and one line that counts the others."""
    leak, = host.daemon().leak()
    mine = user_host.daemon().open()
    time.sleep(DUE_S)
    result = user_reaper.run("audit")
    assert result.rc == 0, result
    assert str(mine.pid) in result.out and f" {leak.pid} " not in result.out
    hidden = [line for line in result.out.splitlines() if "other user" in line]
    assert len(hidden) == 1, result
    assert user_reaper.run("--json", "sweep").expect(0).acted_on == set()
    assert leak.is_alive()


def test_foreign_worker(user_reaper: Reaper, host: MiniHost) -> None:
    """explain and retire of another user's worker."""
    worker = host.daemon().open()
    assert user_reaper.run("explain", str(worker.pid)).rc in (0, 3)
    refused = user_reaper.run("retire", str(worker.pid)).expect(3)
    assert refused.err


def test_doctor_names_the_privilege(user_reaper: Reaper, host: MiniHost) -> None:
    """What is missing for others' trees is said by name."""
    host.daemon().open()
    doctor = user_reaper.run("doctor").expect(1)
    assert "CAP_SYS_PTRACE" in doctor.out and "CAP_KILL" in doctor.out


def test_foreign_operator_is_not_believed(reaper: Reaper, user_reaper: Reaper,
                                          start_host: StartHost) -> None:
    """A user cannot have another's worker ended by writing what root's reaper reads."""
    host = start_host(uid=STRANGER_UID)
    worker = host.daemon().open()
    reaper.marker_dir.chmod(0o1777)
    folder = reaper.marker_dir / f"operator-{PRIVATE_UID}"
    folder.mkdir(mode=0o755)
    log = folder / "retire.log"
    log.write_text(record(operator_record(PRIVATE_UID))
                   + record(f"retired worker={worker.identity}"))
    for path in (folder, log):
        shutil.chown(path, PRIVATE_UID, PRIVATE_UID)
    for _ in range(2):
        time.sleep(DUE_S)
        assert reaper.sweep(host).expect(0).acted_on == set()
    assert worker.serves()


def test_root_sweeps_for_a_user(reaper: Reaper, user_host: MiniHost) -> None:
    """Root's reaper ends a user's leak; that is what cron runs."""
    leak, = user_host.daemon().leak()
    reaper.wait_due(leak)
    assert reaper.sweep(user_host).expect(0).acted_on == {leak.pid}


def test_not_dumpable(user_reaper: Reaper, user_host: MiniHost) -> None:
    """What may not be read is not judged, even where it could be signalled."""
    daemon = user_host.daemon()
    worker, readable = daemon.open(), daemon.open()
    worker.task("nondumpable then poll")
    readable.task("poll")
    for one in (worker, readable):
        one.close()
    user_reaper.wait_due(readable)
    swept = user_reaper.sweep(user_host).expect(0)
    assert swept.acted_on == {readable.pid}
    assert swept.verdict(worker) == ("keep", "idle")
    assert swept.worker(worker)["socket"] == "unknown"
    swept = user_reaper.sweep(user_host, settings={"policy.silent_after": "1s"})
    assert swept.acted_on == set()
    assert swept.verdict(worker) == ("keep", "unreadable")
    assert worker.is_alive()


def test_signal_right_without_reading_right(reaper: Reaper, user_host: MiniHost) -> None:
    """CAP_KILL alone: another user's worker could be ended, but not be judged."""
    leak, = user_host.daemon().leak()
    reaper.wait_due(leak)
    for path in (reaper.home, reaper.marker_dir, reaper.state_dir, reaper.audit_log.parent):
        shutil.chown(path, STRANGER_UID, STRANGER_UID)
    shutil.chown(reaper.config, STRANGER_UID, STRANGER_UID)
    prefix = ("setpriv", f"--reuid={STRANGER_UID}", f"--regid={STRANGER_UID}", "--clear-groups",
              "--inh-caps=-all,+kill", "--ambient-caps=-all,+kill", "--bounding-set=-all,+kill")
    named = reaper.run("sweep", host=user_host, prefix=prefix).expect(3)
    assert f"--host {user_host.pid}: its tree may not be read from here" in named.err, named
    assert leak.is_alive() and reaper.audit_records() == []


@pytest.mark.parametrize("caps", ["kill,+sys_ptrace", "kill,+sys_ptrace,+dac_read_search"])
def test_few_capabilities(reaper: Reaper, user_host: MiniHost, caps: str) -> None:
    """A service user with the capabilities of the shipped unit: what it can judge, it ends."""
    daemon = user_host.daemon()
    pooled, leak = daemon.open(), daemon.leak()[0]
    reaper.wait_due(leak)
    for path in (reaper.home, reaper.marker_dir, reaper.state_dir, reaper.audit_log.parent,
                 reaper.config):
        shutil.chown(path, STRANGER_UID, STRANGER_UID)
    prefix = ("setpriv", f"--reuid={STRANGER_UID}", f"--regid={STRANGER_UID}", "--clear-groups",
              f"--inh-caps=-all,+{caps}", f"--ambient-caps=-all,+{caps}",
              f"--bounding-set=-all,+{caps}")
    result = reaper.run("--json", "sweep", host=user_host, prefix=prefix).expect(0)
    assert result.acted_on == {leak.pid}
    assert pooled.serves()
