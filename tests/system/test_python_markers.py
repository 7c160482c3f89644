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
    done = run("log = r.Log('daemon')\nlog.write('done', worker='x' * 600)\n"
               "log.write('done', worker=r.identity())\nprint(log.failures)", folder)
    assert done.returncode == 0 and done.stdout == "1\n"
    assert [line.split()[2] for line in lines(folder)] == ["daemon", "done"]


@pytest.mark.parametrize("name, short", [
    ("x" * 64, None), ("x" * 65, "sha256:9537C5FDF120482F7D58D25E9ED583F5"),
    ("x" * 600, None), ("\u00e9" * 33, None), ("", None), ("a\0b", None),
])
def test_a_name_that_reaper_does_not_take(name: str, short: str | None, reaper: Reaper,
                                          folder: pathlib.Path) -> None:
    """A task without a name would run unseen: it gets one, as the jar gives it."""
    run(f"with r.task({name!r}, job={name!r}): pass", folder)
    _host, begin, end = lines(folder)
    task = begin.split()[3]
    assert end.split()[3] == task and task.replace("task", "job") in begin
    assert task == f"task={name}" if name == "x" * 64 else task.startswith("task=sha256:")
    assert short is None or task == f"task={short}"
    checks = {c["name"] for c in reaper.run("--json", "doctor").doc["checks"]}
    assert not checks & {"marker-records", "marker-words"}


def test_a_name_that_comes_again(folder: pathlib.Path) -> None:
    """For reaper a task that has ended stays ended: the next one of its name is another."""
    run("with r.task('a/2'): pass\nwith r.task('a'): pass\n"
        "with r.task('a'):\n    with r.task('a'): pass\n"
        "r.NAMES_KEPT = 0\nwith r.task('b'): pass\nwith r.task('b'): pass", folder)
    assert [re.sub(r"/\d{13}-", "/MS-", " ".join(line.split()[2:4]))
            for line in lines(folder)[1:]] == [
        "begin task=a/2", "end task=a/2", "begin task=a", "end task=a",
        "begin task=a/3", "begin task=a/4", "end task=a/4", "end task=a/3",
        "begin task=b/MS-5", "end task=b/MS-5", "begin task=b/MS-6", "end task=b/MS-6"]


def test_names_in_a_log_that_others_write_too(folder: pathlib.Path) -> None:
    """A forked child, and a program that this process was before, had tasks of the same names."""
    run("import os, sys\nwith r.task('a'):\n"
        "    if os.fork() == 0:\n        with r.task('a'): pass\n        r.done()\n        os._exit(0)\n"
        "    os.wait()\n"
        "sys.stdout.flush()\n"
        "os.execv(sys.executable, [sys.executable, '-c', 'import reaper_markers as r\\n'\n"
        "    'with r.task(\"a\"): pass'])", folder)
    found = [line.split()[2:4] for line in lines(folder)[1:]]
    assert [event for event, _ in found] == ["begin", "begin", "end", "done", "end", "begin", "end"]
    parent, child, child_end, _done, parent_end, other, other_end = (task for _, task in found)
    assert parent == parent_end == "task=a"
    assert re.fullmatch(rf"task=a/{WHO}-2", child) and child == child_end
    assert re.fullmatch(r"task=a/\d{13}-2", other) and other == other_end


def test_a_log_that_could_not_be_opened_at_first(folder: pathlib.Path) -> None:
    """What runs by then has begun before."""
    run(f"import os\nr.RETRY_S = 0\nos.environ['REAPER_MARKER_DIR'] = '/proc/1/none'\n"
        f"p = r.program()\np.begin('1')\nos.environ['REAPER_MARKER_DIR'] = {str(folder)!r}\n"
        "p.begin('2')\np.end('2')", folder)
    assert [" ".join(line.split()[2:4]) for line in lines(folder)[1:]] == [
        "begin task=1", "begin task=2", "end task=2"]


def test_a_record_that_was_lost(folder: pathlib.Path) -> None:
    """Without it the others mislead: the log is emptied, and begun again when that is possible."""
    done = run("import pathlib, resource\n"
               "hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]\n"
               "def limit(size): resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))\n"
               "def size(): print([f.stat().st_size for f in pathlib.Path(\n"
               f"    {str(folder)!r}).rglob('*.log')])\n"
               "p = r.program()\nwith r.task('1'): pass\n"
               "limit(10)\np.begin('2', job='j')\nsize()\np.begin('3')\nsize()\n"
               "limit(hard)\np.end('3')\np.end('2')\nprint(p.log.failures)", folder)
    assert done.stdout.splitlines() == ["[0]", "[0]", "2"], done
    assert len(done.stderr.splitlines()) == 1
    assert [re.sub(rf" worker={WHO}| host=.*", "", line.split(" ", 2)[2]) for line in lines(folder)] == [
        "host", "begin task=3", "begin task=2 job=j", "end task=3 outcome=ok", "end task=2 outcome=ok"]


def test_a_record_that_a_forked_child_lost(folder: pathlib.Path) -> None:
    """It may be a `begin` in its parent's log, which then proves nothing any more."""
    run("import os, resource\np = r.program()\nwith r.task('1'): pass\n"
        "if os.fork() == 0:\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))\n    p.begin('2')\n    os._exit(0)\n"
        "os.wait()\nr.done()", folder)
    assert [line.split()[2] for line in lines(folder)] == ["done"]


def test_a_log_is_not_begun_again_where_others_wrote(folder: pathlib.Path) -> None:
    """Neither a child nor its parent knows what the other had begun in it."""
    done = run("import os, pathlib, resource\np = r.program()\nwith r.task('1'): pass\n"
               "hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]\n"
               "resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))\np.begin('2')\n"
               "resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))\n"
               "if os.fork() == 0:\n    p.begin('3')\n    os._exit(0)\nos.wait()\n"
               f"log, = pathlib.Path({str(folder)!r}).rglob('*.log')\n"
               "print([line.split()[2] for line in log.read_text().splitlines()])\np.end('2')", folder)
    assert done.stdout == "['begin']\n", done
    assert [line.split()[2] for line in lines(folder)] == ["begin", "end"]


def test_a_log_that_is_continued_has_all_that_runs(folder: pathlib.Path) -> None:
    """Another program of this process has written it; what began before it could be opened is in it."""
    run(f"import os\nr.RETRY_S = 0\nwith r.task('1'): pass\n"
        "p = r.Program()\nos.environ['REAPER_MARKER_DIR'] = '/proc/1/none'\np.begin('2')\n"
        f"os.environ['REAPER_MARKER_DIR'] = {str(folder)!r}\np.begin('3')", folder)
    assert [re.sub(r"/\d{13}-", "/MS-", " ".join(line.split()[2:4]))
            for line in lines(folder)[1:]] == [
                "begin task=2", "begin task=3/MS-2", "begin task=3/MS-2"]


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
