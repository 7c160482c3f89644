# SPDX-License-Identifier: Apache-2.0
"""hosts/python/reaper_markers.py: what any Python program says of its tasks, and what goes wrong."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import pytest

from harness.binary import Reaper

PYTHON = pathlib.Path(__file__).resolve().parents[2] / "hosts" / "python"
HEAD = r"reaper/1 \d{13} "
WHO = r"\d+:\d+"


def run(code: str, folder: pathlib.Path) -> subprocess.CompletedProcess[str]:
    """A program of its own that uses the module."""
    env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(PYTHON), "PYTHONDONTWRITEBYTECODE": "1",
           "REAPER_MARKER_DIR": str(folder)}
    return subprocess.run([sys.executable, "-c", f"import reaper_markers as r\n{code}"], env=env,
                          capture_output=True, text=True, timeout=60, check=False)


def lines(folder: pathlib.Path) -> list[str]:
    """The records of the only log there is."""
    log, = folder.rglob("*.log")
    assert log.stat().st_mode & 0o777 == 0o644
    return log.read_text("ascii").splitlines()


@pytest.fixture
def folder(reaper: Reaper) -> pathlib.Path:
    return reaper.marker_dir


def test_tasks_of_a_program(reaper: Reaper, folder: pathlib.Path) -> None:
    """Each is begun and ended once, and reaper has nothing to complain of."""
    done = run("with r.task('17', job='a b'): pass\nr.program().begin(18)\nr.done(3)", folder)
    assert (done.returncode, done.stderr) == (0, "")
    wanted = [rf"host host={WHO} boot=[0-9a-f-]{{36}} pidns=\d+ class=single pool=none tasks=all",
              rf"begin task=17 job=a%20b worker={WHO}", "end task=17 outcome=ok",
              rf"begin task=18 worker={WHO}", "end task=18 outcome=ok",
              rf"done worker={WHO} code=3"]
    found = lines(folder)
    assert len(found) == len(wanted), found
    for line, want in zip(found, wanted):
        assert re.fullmatch(HEAD + want, line), (line, want)
    checks = {c["name"] for c in reaper.run("--json", "doctor").doc["checks"]}
    assert not checks & {"marker-records", "marker-words"}


def test_an_exception_goes_on_its_way(folder: pathlib.Path) -> None:
    """The task has failed; who raised it sees no difference."""
    done = run("with r.task('1'):\n    raise KeyError('mine')", folder)
    assert done.returncode == 1 and "KeyError: 'mine'" in done.stderr
    assert lines(folder)[-1].endswith("end task=1 outcome=failed")


def test_a_program_goes_on_without_its_log(reaper: Reaper) -> None:
    """No directory, no log, one line on stderr, and the same result."""
    blocked = reaper.home / "file"
    blocked.write_text("")
    done = run("with r.task('1'): print('result')\nr.done()\nprint(r.program().log.failures)",
               blocked / "markers")
    assert done.returncode == 0 and done.stdout.splitlines() == ["result", "3"]
    assert len(done.stderr.splitlines()) == 1 and done.stderr.startswith("reaper_markers: ")


def test_a_directory_that_everybody_may_write(folder: pathlib.Path) -> None:
    """There the log lies in a directory of this user's own: reaper believes no other."""
    folder.chmod(0o1777)
    run("r.done()", folder)
    mine, = folder.iterdir()
    assert mine.name == f"user-{os.geteuid()}" and mine.stat().st_mode & 0o777 == 0o755
    assert len(lines(folder)) == 2


def test_a_record_that_is_too_long(folder: pathlib.Path) -> None:
    """Reaper would skip it: it is not written, and the next one is."""
    done = run("with r.task('x' * 600): print('result')\nr.done()", folder)
    assert done.returncode == 0 and done.stdout == "result\n"
    assert [line.split()[2] for line in lines(folder)] == ["host", "done"]


def test_what_is_forked_has_no_log_of_its_own(folder: pathlib.Path) -> None:
    """A log that was not open before the fork is the parent's alone."""
    run("import os\nlog = r.Log('daemon')\nif os.fork() == 0:\n"
        "    log.write('done', worker=r.identity())\n    os._exit(0)\n"
        "os.wait()\nlog.write('done', worker=r.identity())", folder)
    assert [line.split()[2] for line in lines(folder)] == ["daemon", "done"]


@pytest.mark.parametrize("value, encoded", [
    ("plain._:/@+-", "plain._:/@+-"), ("a b=c%", "a%20b%3Dc%25"), ("\u00e9", "%C3%A9"),
    ("\udc80", "%80"), (7, "7"),
])
def test_values_are_encoded(value: object, encoded: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PYTHON))
    import reaper_markers

    assert reaper_markers.encode(value) == encoded
