# SPDX-License-Identifier: Apache-2.0
"""A configuration that is wrong anywhere is refused whole: exit 2, file and line, nothing done."""

from __future__ import annotations

import os
import time

import pytest

from harness.binary import DUE_S, Reaper, Result
from harness.minihost import MiniHost, Worker
from harness.privilege import STRANGER_UID, needs_root

# Each after a good first section of four lines, so that the bad line is the sixth of the file.
BAD_LINE = 6
BAD = {
    "unknown key": "timeuot = 5m",
    "bad duration": "timeout = 5",
    "negative duration": "timeout = -5m",
    "zero without unit": "sample = 0",
    "two durations": "timeout = 1m30s",
    "too short": "timeout = 10ms",
    "too long": "timeout = 31d",
    "overflow": "timeout = 99999999999999999999s",
    "bad percent": "idle_cpu = 0%",
    "no percent": "idle_cpu = 1",
    "bad yes": "helpers = maybe",
    "bad limit": "max_kills_per_sweep = 0",
    "limit not a number": "max_kills_per_sweep = 3x",
    "unknown fence": "fences = signed-off gone",
    "assumed too short": "assume_leaked_after = 59s",
    "no equals sign": "timeout",
    "no key": "= 5m",
    "empty value": "timeout =",
    "indented": "  timeout = 5m",
    "long line": "timeout = 5m" + " " * 200,
    "NUL": "timeout = 5m\0",
    "carriage return": "timeout = 5m\r",
    "unknown section": "[polcy]",
    "torn section": "[policy",
    "class without a name": "[class]",
    "unknown class key": "[class x]\nname = y",
    "unknown protect key": "[protect]\nuid = 0",
    "unknown user": "[protect]\nuser = no-such-user-here",
    "a key of another section": "interval = 10s",
}
LATER_LINE = {"unknown class key", "unknown protect key", "unknown user"}


@pytest.fixture(scope="module")
def leak(module_host: MiniHost) -> Worker:
    """A worker that every sweep in this file would end, were it to take place."""
    worker, = module_host.daemon().leak()
    time.sleep(DUE_S)
    return worker


def refused(reaper: Reaper, leak: Worker, *words: str) -> Result:
    """check-config and sweep both refuse, in one line of stderr that holds the words."""
    checked = reaper.run("check-config").expect(2)
    result = reaper.run("sweep", host=leak.host).expect(2)
    for run in (checked, result):
        assert run.out == ""
        assert len(run.err.splitlines()) == 1, run
        assert all(word in run.err for word in words), run
    assert leak.is_alive() and reaper.audit_records() == []
    return result


@pytest.mark.parametrize("name", BAD)
def test_bad_line(reaper: Reaper, leak: Worker, name: str) -> None:
    """File, line, and what was expected."""
    reaper.write_config("[policy]\n" + BAD[name] + "\n")
    line = BAD_LINE + (name in LATER_LINE)
    refused(reaper, leak, f"{reaper.config}:{line}: ")


@pytest.mark.parametrize("more", ["state_dir = /tmp/x", "[policy]\ntimeout = 5m\ntimeout = 6m",
                                  "[policy]\ntimeout = 5m\n[policy]\ntimeout = 6m"])
def test_repeated_key(reaper: Reaper, leak: Worker, more: str) -> None:
    """Which of two values did the operator mean?"""
    reaper.write_config(more + "\n")
    line = 4 + len(more.splitlines())
    refused(reaper, leak, f"{reaper.config}:{line}: ")


def test_key_before_any_section(reaper: Reaper, leak: Worker) -> None:
    """A key without a section means nothing."""
    reaper.config.write_text("timeout = 5m\n")
    refused(reaper, leak, f"{reaper.config}:1: ")


@pytest.mark.parametrize("mode", [0o664, 0o646, 0o666])
def test_others_may_write(reaper: Reaper, leak: Worker, mode: int) -> None:
    """Who may write the file may have anybody's worker killed."""
    reaper.config.chmod(mode)
    refused(reaper, leak, str(reaper.config))


@needs_root
def test_foreign_owner(reaper: Reaper, leak: Worker) -> None:
    """The same for its owner."""
    os.chown(reaper.config, STRANGER_UID, STRANGER_UID)
    refused(reaper, leak, str(reaper.config))


def test_missing_file(reaper: Reaper, leak: Worker) -> None:
    """A file that -c names must be there."""
    reaper.config.unlink()
    refused(reaper, leak, str(reaper.config))


@pytest.mark.parametrize("kind", ["directory", "fifo", "link"])
def test_not_a_file(reaper: Reaper, leak: Worker, kind: str) -> None:
    """Never blocks on a FIFO, never takes a directory for an empty file."""
    reaper.config.unlink()
    if kind == "directory":
        reaper.config.mkdir()
    elif kind == "fifo":
        os.mkfifo(reaper.config, 0o644)
    else:
        reaper.config.symlink_to("/nonexistent")
    refused(reaper, leak, str(reaper.config))


@pytest.mark.parametrize("setting", [
    "policy.timeuot=5m", "policy.timeout=5", "timeout=5m", "policy.timeout", "=5m", ".=",
    "nowhere.timeout=5m", "policy.timeout=31d"])
def test_bad_set(reaper: Reaper, leak: Worker, setting: str) -> None:
    """--set is judged as a line of the file is."""
    argv = reaper.argv(("--set", setting, "sweep"), (leak.host,), None)
    result = reaper.run_argv(argv).expect(2)
    assert result.out == "" and result.err
    assert leak.is_alive()


def test_good_values(reaper: Reaper) -> None:
    """The limits of each range are legal, and comments and blank lines too."""
    reaper.write_config(
        "\n# a comment\n; another\ninterval = 1h\nmarker_keep = 1h\nmetrics_file =\n"
        "[policy]\ntimeout = 30d\nsilent_after = 1s\nmin_age = 1d  ; why not\nsample = 0s\n"
        "idle_cpu = 0.1%\nterm_grace = 0s\nkill_grace = 10m\nassume_leaked_after = 1m\n"
        "max_kills_per_sweep = 100000\nhelpers = no\nfences = retired\n"
        "[class mine]\ndaemon_args = -m my.daemon | my-daemon --fork\nhost_comm = java | jvm\n"
        "pool_timeout = unknown\n"
        "[protect]\nuser = 0\nuser = 1\ncomm = x\nargs = --y\ncgroup = /z\n")
    argv = [str(reaper.binary), "-c", str(reaper.config), "check-config"]
    out = reaper.run_argv(argv).expect(0).out
    assert "my.daemon" in out and "30d" in out


def test_the_control(reaper: Reaper, leak: Worker) -> None:
    """With a good configuration the same sweep ends that worker: the refusals above were real."""
    assert reaper.sweep(leak.host).expect(0).acted_on == {leak.pid}
