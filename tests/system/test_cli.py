# SPDX-License-Identifier: Apache-2.0
"""The command line as people and scripts meet it: words, exit statuses, streams, columns."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import time

import pytest

from harness import procs
from harness.binary import DUE_S, Reaper, Result
from harness.minihost import Daemon, MiniHost
from harness.privilege import STRANGER_UID, needs_root

COMMANDS = ("audit", "sweep", "watch", "explain", "retire", "doctor", "check-config")
COLUMNS = 80
ESCAPE = "\033"


@pytest.fixture
def daemon(host: MiniHost) -> Daemon:
    return host.daemon()


@pytest.fixture(scope="module")
def shared(module_host: MiniHost) -> Daemon:
    """For tests that look at processes of their own and at nothing else."""
    return module_host.daemon()


def bare(reaper: Reaper, *args: str) -> Result:
    """The binary with these arguments and nothing else."""
    return reaper.run_argv([str(reaper.binary), *args])


# ---- usage ---------------------------------------------------------------------------------


def test_alone(reaper: Reaper) -> None:
    """`reaper` alone does nothing and says how to go on."""
    result = bare(reaper).expect(2)
    assert result.out == ""
    assert all(command in result.err for command in COMMANDS)


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help(reaper: Reaper, option: str) -> None:
    """Help was asked for: stdout, 0, every command and option, 80 columns."""
    result = bare(reaper, option).expect(0)
    assert result.err == ""
    words = (*COMMANDS, "--config", "--dry-run", "--host", "--set", "--json", "--quiet",
             "--verbose", "--version")
    assert all(word in result.out for word in words)
    assert max(map(len, result.out.splitlines())) <= COLUMNS


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_version(reaper: Reaper, option: str) -> None:
    """One line: name and number."""
    assert re.fullmatch(r"reaper \d+\.\d+(\.\d+)?\S*\n", bare(reaper, option).expect(0).out)


@pytest.mark.parametrize("args", [
    ["--frobnicate"], ["-x"], ["frobnicate"], ["audit", "extra"], ["explain"], ["retire"],
    ["explain", "one"], ["explain", "-5"], ["explain", "0"], ["explain", "99999999999999999999"],
    ["explain", "1", "2"], ["--host"], ["--host", "x", "audit"], ["--host", "0", "audit"],
    ["--host", "-1", "audit"], ["--set"], ["-c"], ["--json=1", "audit"], ["", ""]])
def test_usage_errors(reaper: Reaper, args: list[str]) -> None:
    """A command line that is not understood does nothing: 2, stderr, nothing on stdout."""
    result = bare(reaper, *args).expect(2)
    assert result.out == "" and result.err.startswith("reaper: ")


def test_options_anywhere(reaper: Reaper, shared: Daemon) -> None:
    """Options may stand before or after the command."""
    before = reaper.run("--json", "audit", host=shared.host)
    after = reaper.run("audit", "--json", host=shared.host)
    assert before.doc["summary"] == after.doc["summary"]


@pytest.mark.parametrize("args", [["--dry-run"], ["-n"]])
def test_dry_run_alone(reaper: Reaper, shared: Daemon, args: list[str]) -> None:
    """`reaper --dry-run` alone is audit."""
    worker = shared.open()
    result = reaper.run(*args, host=shared.host)
    assert result.rc == 0 and str(worker.pid) in result.out


def test_no_host_at_all(user_reaper: Reaper) -> None:
    """Nothing to look at is no error, and doctor is the next step."""
    for command in ("audit", "sweep"):
        result = user_reaper.run(command)
        assert result.rc == 0, result
    assert "doctor" in user_reaper.run("audit").out


@pytest.mark.parametrize("command", ["audit", "sweep", "watch"])
def test_host_that_is_not_there(reaper: Reaper, host: MiniHost, command: str) -> None:
    """A --host that is gone: 3, and which."""
    host.kill()
    host.wait()
    result = reaper.run(command, host=host).expect(3)
    assert str(host.pid) in result.err


# ---- audit for people ----------------------------------------------------------------------


def test_tree(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """Host, daemon and workers, each with its verdict, and what to do next."""
    pooled, leak = daemon.open(), daemon.leak()[0]
    reaper.audit_until_due(host, leak)
    out = reaper.run("audit", host=host).expect(1).out
    lines = out.splitlines()
    assert lines[0].startswith(f"host {host.pid} java")
    assert f"daemon {daemon.pid} pyspark" in lines[1]
    row = {pid: next(line for line in lines if f" {pid} " in line)
           for pid in (pooled.pid, leak.pid)}
    assert "keep" in row[pooled.pid]
    assert "REAP" in row[leak.pid] and "peer-closed" in row[leak.pid]
    assert "reaper sweep" in out and "1 due" in out


@pytest.mark.parametrize("command", ["audit", "-v audit", "doctor", "explain"])
def test_columns(reaper: Reaper, host: MiniHost, daemon: Daemon, command: str) -> None:
    """80 columns are enough."""
    leak, silent = daemon.leak()[0], daemon.open()
    silent.task("helper then sleep")
    args = command.split() + ([str(leak.pid)] if command == "explain" else [])
    settings = {"policy.silent_after": "1s"}
    time.sleep(DUE_S)
    out = reaper.run(*args, host=host, settings=settings).out
    long = [line for line in out.splitlines() if len(line) > COLUMNS]
    # a path may be longer than the terminal is wide, and what is to be copied; nothing else may
    assert [line for line in long if str(reaper.home) not in line
            and not re.match(r"  (--conf )?\S+=/\S+$", line)] == []


def on_a_terminal(reaper: Reaper, host: MiniHost, env: dict[str, str]) -> str:
    """What audit prints when stdout is a terminal."""
    ours, theirs = pty.openpty()
    argv = reaper.argv(("audit",), (host,), None)
    done = subprocess.Popen(argv, env={**reaper.environment(), "TERM": "xterm", **env},
                            stdout=theirs)
    os.close(theirs)
    data = b""
    while True:
        try:
            more = os.read(ours, 65536)
        except OSError:
            break
        if not more:
            break
        data += more
    done.wait(30)
    os.close(ours)
    return data.decode()


def test_color(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """Colour on a terminal only, and not where NO_COLOR is set."""
    leak, = daemon.leak()
    reaper.audit_until_due(host, leak)
    assert ESCAPE in on_a_terminal(reaper, host, {})
    assert ESCAPE not in on_a_terminal(reaper, host, {"NO_COLOR": "1"})
    assert ESCAPE not in reaper.run("audit", host=host).out


def test_ascii_locale(reaper: Reaper, shared: Daemon) -> None:
    """In the C locale the tree is drawn with ASCII."""
    shared.open()
    out = reaper.run("audit", host=shared.host, env={"LC_ALL": "C"}).out
    assert out.isascii()


def test_quiet(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """-q: errors only; the exit status says the rest."""
    leak, = daemon.leak()
    reaper.audit_until_due(host, leak)
    for args, rc in ((("-q", "audit"), 1), (("-q", "sweep"), 0)):
        result = reaper.run(*args, host=host).expect(rc)
        assert result.out == "" and result.err == ""


def test_verbose(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """A sweep with nothing to do is silent, and with -v it says so."""
    daemon.open()
    assert reaper.run("sweep", host=host).expect(0).out == ""
    result = reaper.run("-v", "sweep", host=host).expect(0)
    assert result.out + result.err != ""


# ---- JSON ----------------------------------------------------------------------------------


def test_json(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """One document of schema reaper/1, with what a script needs."""
    pooled, leak = daemon.open(), daemon.leak()[0]
    doc = reaper.audit_until_due(host, leak).doc
    assert doc["schema"] == "reaper/1" and doc["dry_run"] in (True, False)
    assert [h["pid"] for h in doc["hosts"]] == [host.pid]
    assert doc["hosts"][0]["comm"] == "java" and doc["hosts"][0]["alive"] is True
    assert [d["pid"] for d in doc["daemons"]] == [daemon.pid]
    assert doc["daemons"][0]["workers"] == 2 and doc["daemons"][0]["reason"] == "daemon"
    summary = doc["summary"]
    assert (summary["workers"], summary["keep"], summary["reap"]) == (2, 1, 1)
    by_pid = {w["pid"]: w for w in doc["workers"]}
    assert by_pid[leak.pid]["pss_bytes"] > 0 and by_pid[pooled.pid]["pss_bytes"] is None
    assert summary["reclaimable_bytes"] == by_pid[leak.pid]["pss_bytes"]
    for entry in doc["workers"]:
        assert entry["daemon"] == daemon.pid and entry["host"] == host.pid
        assert entry["uid"] == os.getuid() and entry["state"] == "S"


def test_json_is_valid(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """The schema that ships describes what is printed."""
    daemon.open()
    daemon.leak()
    for args in (("audit",), ("sweep",), ("--dry-run",)):
        assert reaper.run("--json", *args, host=host).doc["schema"] == "reaper/1"


def test_two_daemons(reaper: Reaper, host: MiniHost) -> None:
    """RDD and SQL jobs: two daemons of one host, each with its workers."""
    first, second = host.daemon(), host.daemon()
    workers = {first.open().pid: first.pid, second.open().pid: second.pid}
    doc = reaper.audit(host).doc
    assert {d["pid"]: d["workers"] for d in doc["daemons"]} == {first.pid: 1, second.pid: 1}
    assert {w["pid"]: w["daemon"] for w in doc["workers"]} == workers


def test_one_look(reaper: Reaper, shared: Daemon) -> None:
    """sample=0s: one look, no CPU rate."""
    worker = shared.open()
    entry = reaper.audit(shared.host, settings={"policy.sample": "0s"}).worker(worker)
    assert entry["cpu_percent"] is None
    assert reaper.audit(shared.host).worker(worker)["cpu_percent"] is not None


# ---- explain -------------------------------------------------------------------------------


def explain(reaper: Reaper, pid: int, host: MiniHost | None = None) -> dict:
    result = reaper.run("--json", "explain", str(pid), host=host or ()).expect(0)
    text = reaper.run("explain", str(pid), host=host or ()).expect(0)
    assert str(pid) in text.out
    return result.doc["explain"]


def test_explain_worker(reaper: Reaper, shared: Daemon) -> None:
    """Every proof, every guard, and what is missing."""
    leak, pooled = shared.leak()[0], shared.open()
    reaper.audit_until_due(shared.host, leak)
    found = explain(reaper, leak.pid)
    assert found["role"] == "worker" and found["pid"] == leak.pid
    proofs = {p["name"]: p for p in found["proofs"]}
    assert set(proofs) >= {"signed-off", "peer-closed", "host-gone", "retired", "task-ended"}
    assert proofs["peer-closed"]["holds"] is True
    assert proofs["signed-off"]["holds"] is False
    assert not any(guard["objects"] for guard in found["guards"])
    missing = {p["name"]: p for p in explain(reaper, pooled.pid)["proofs"]}
    assert missing["peer-closed"]["holds"] is False
    assert missing["retired"]["how_to_get"]


def test_explain_others(reaper: Reaper, shared: Daemon) -> None:
    """Every other process gets its role, never an error."""
    worker = shared.open()
    worker.task("helper then sleep")
    assert explain(reaper, shared.host.pid)["role"] == "host"
    assert explain(reaper, shared.pid)["role"] == "daemon"
    assert explain(reaper, worker.helpers[0].pid)["role"] == "helper"
    assert explain(reaper, os.getpid())["role"] == "other"
    assert explain(reaper, 1)["role"] == "other"


def test_explain_itself(reaper: Reaper, host: MiniHost) -> None:
    """reaper knows itself: a shell that becomes reaper asks about its own pid."""
    argv = ["sh", "-c", 'exec "$@" --json explain $$', "sh", *reaper.argv((), (), None)]
    done = reaper.run_argv(argv).expect(0)
    assert json.loads(done.out)["explain"]["role"] == "reaper"


def test_explain_lost_helper(reaper: Reaper, shared: Daemon) -> None:
    """What belongs to nobody is named as well."""
    worker = shared.open()
    worker.task("helper then exit")
    found = explain(reaper, worker.helpers[0].pid)
    assert "helper" in found["role"]


def test_explain_nobody(reaper: Reaper, shared: Daemon) -> None:
    """A pid that is not there: 3."""
    worker = shared.open()
    worker.pinned.kill()
    procs.until("reaped", lambda: procs.stat(worker.pid) is None)
    result = reaper.run("explain", str(worker.pid)).expect(3)
    assert str(worker.pid) in result.err


# ---- retire, doctor, check-config ----------------------------------------------------------


def test_retire_dry(reaper: Reaper, shared: Daemon) -> None:
    """-n shows what it is and writes nothing."""
    worker = shared.open()
    out = reaper.run("-n", "retire", str(worker.pid)).expect(0).out
    assert str(worker.pid) in out
    assert list(reaper.marker_dir.iterdir()) == []


def test_retire_writes(reaper: Reaper, shared: Daemon) -> None:
    """One record in the operator's own log, with a header that says who speaks."""
    worker = shared.open()
    reaper.run("retire", str(worker.pid)).expect(0)
    folder = reaper.marker_dir / f"operator-{os.geteuid()}"
    log = folder / "retire.log"
    first, second = log.read_text().splitlines()
    assert re.fullmatch(rf"reaper/1 \d+ operator uid={os.geteuid()} boot=\S+ pidns=\d+", first)
    assert re.fullmatch(rf"reaper/1 \d+ retired worker={worker.identity}", second)
    assert folder.stat().st_mode & 0o7777 == 0o755 and log.stat().st_mode & 0o7777 == 0o644
    reaper.run("retire", str(shared.open().pid)).expect(0)
    records = [line.split()[2] for line in log.read_text().splitlines()]
    assert records[0] == "operator" and records.count("retired") == 2


def test_retire_refuses(reaper: Reaper, shared: Daemon) -> None:
    """Only what is proven to be a worker: not a host, a daemon, a helper, a stranger, nobody."""
    worker = shared.open()
    worker.task("helper then sleep")
    gone = shared.open()
    gone.pinned.kill()
    procs.until("reaped", lambda: procs.stat(gone.pid) is None)
    for pid in (shared.host.pid, shared.pid, worker.helpers[0].pid, os.getpid(), 1, gone.pid):
        assert reaper.run("retire", str(pid)).expect(3).err
    assert list(reaper.marker_dir.iterdir()) == []


def test_retired_deadlock(reaper: Reaper, host: MiniHost, daemon: Daemon) -> None:
    """Full queues, host alive: neither bytes nor an open task object to the operator."""
    worker = daemon.open()
    worker.task("poll")
    worker.fill()
    reaper.run("retire", str(worker.pid), host=host).expect(0)
    result = reaper.audit_until_due(host, worker)
    assert result.verdict(worker) == ("reap", "retired")
    assert reaper.sweep(host).expect(0).acted_on == {worker.pid}


def test_doctor(reaper: Reaper, host: MiniHost) -> None:
    """What can be seen and done from here; 1 where there is advice."""
    result = reaper.run("--json", "doctor")
    checks = json.loads(result.out)["checks"]
    assert checks and {c["status"] for c in checks} <= {"ok", "advice", "bad"}
    assert all(c["name"] and c["found"] for c in checks)
    assert all(c["fix"] for c in checks if c["status"] != "ok")
    assert result.rc == (1 if any(c["status"] != "ok" for c in checks) else 0)
    assert reaper.run("doctor").rc == result.rc


def test_doctor_finds_a_class(reaper: Reaper, host: MiniHost) -> None:
    """A daemon that no class describes: the section to add is printed."""
    daemon = host.daemon()
    daemon.open()
    reaper.write_config("[class pyspark]\ndaemon_args = -m nothing.here\n")
    out = reaper.run("doctor", host=host).out
    assert "[class " in out and "pyspark.daemon" in out


def test_check_config(reaper: Reaper) -> None:
    """Every setting with its value and origin: default, file and line, command line."""
    reaper.write_config("[policy]\nsilent_after = 20m\n")
    result = reaper.run("--json", "check-config", settings={"policy.timeout": "7m"}).expect(0)
    settings = {(s["section"], s["key"]): s for s in json.loads(result.out)["settings"]}
    assert settings["policy", "timeout"]["value"] == "7m"
    assert settings["policy", "timeout"]["origin"] == "command line"
    assert settings["policy", "silent_after"]["origin"] == f"{reaper.config}:6"
    assert settings["policy", "helpers"]["origin"] == "default"
    assert settings["class pyspark", "host_comm"]["value"] == "java"
    for key in ("interval", "marker_keep", "metrics_file"):
        assert settings["reaper", key]["origin"] == "default"


def test_check_config_reads_back(reaper: Reaper, workdir: object) -> None:
    """Its text is a configuration of the same meaning."""
    first = reaper.run("check-config").expect(0).out
    copy = reaper.home / "copy.conf"
    copy.write_text(first)
    copy.chmod(0o644)
    second = reaper.run_argv([str(reaper.binary), "-c", str(copy), "check-config"]).expect(0)

    def values(text: str) -> list[str]:
        lines = (line.split(";")[0].strip() for line in text.splitlines())
        return [line for line in lines if line and not line.startswith("#")]

    assert values(second.out) == values(first)


def test_last_set_wins(reaper: Reaper) -> None:
    """--set repeated: the last one."""
    argv = reaper.argv(("--set", "policy.timeout=8m", "--set", "policy.timeout=9m", "--json",
                        "check-config"), (), None)
    settings = json.loads(reaper.run_argv(argv).expect(0).out)["settings"]
    assert [s["value"] for s in settings if s["key"] == "timeout"] == ["9m"]


@needs_root
def test_paths_of_a_user(user_reaper: Reaper) -> None:
    """Without a file a user's reaper keeps to that user's directories."""
    home = user_reaper.home
    argv = [str(user_reaper.binary), "--json", "check-config"]
    out = user_reaper.run_argv(argv).expect(0).out
    value = {s["key"]: s["value"] for s in json.loads(out)["settings"]}
    assert value["state_dir"] == f"{home}/xdg-run/reaper"
    assert value["marker_dir"] == f"{home}/xdg-run/reaper/markers"
    assert value["audit_log"] == f"{home}/xdg-state/reaper/audit.jsonl"
    assert STRANGER_UID != user_reaper.uid
