# SPDX-License-Identifier: Apache-2.0
"""Marker logs and configuration that are deleted, renamed and rewritten while they are read, as fast
as a writer can, for a minute (REAPER_REPLACE_S)."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from harness.binary import Reaper, Watch
from harness.markers import host_record, record
from harness.minihost import MiniHost, Worker

REPLACE = pathlib.Path(__file__).resolve().parents[1] / "hosts" / "replace.py"
SECONDS = float(os.environ.get("REAPER_REPLACE_S", "60"))
CALM_S = 5  # at its end, without a SIGHUP: a reload forgets all that was read, and so what was read wrongly
SHOWN = 8  # tasks of a verdict, the newest
IN_FIRST = 2  # of them, in a log that is replaced once more
APART_S = 10.5  # two beats that prove
SETTINGS = {"reaper.interval": "1s", "policy.silent_after": "30d"}
LEDGER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whoever closes a descriptor twice meets one that is not open: sooner or later, its next owner does. */
int close(int fd)
{
	static const char said[] = "descriptor ledger: closed twice\n";
	int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "close");
	int r = real(fd);

	if (r < 0 && errno == EBADF) {
		(void)!write(2, said, sizeof(said) - 1);
		abort();
	}
	return r;
}
"""


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A library that ends a process which closes what is not open."""
    folder = tmp_path_factory.mktemp("ledger")
    (folder / "ledger.c").write_text(LEDGER)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "ledger.so", folder / "ledger.c",
                    "-ldl"], check=True)
    return folder / "ledger.so"


def preload(ledger: pathlib.Path) -> tuple[str, ...]:
    """How the binary is started with the ledger; a sanitizer has its own eyes on descriptors."""
    if any(name.endswith("SAN_OPTIONS") for name in os.environ):
        return ()
    return ("env", f"LD_PRELOAD={ledger}")


def test_the_ledger_sees_a_second_close(ledger: pathlib.Path) -> None:
    """Else the test below proves nothing."""
    code = "import ctypes; c = ctypes.CDLL(None); fd = c.dup(1); c.close(fd); c.close(fd)"
    done = subprocess.run([sys.executable, "-c", code], env={"LD_PRELOAD": str(ledger)},
                          capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == -signal.SIGABRT and "closed twice" in done.stderr


def test_a_minute_of_replacements(reaper: Reaper, start_host, ledger: pathlib.Path) -> None:
    """No crash, no descriptor closed twice, no record believed twice, none lost that was whole."""
    host: MiniHost = start_host(fresh=True)
    daemon = host.daemon()
    worker = daemon.open()
    log = reaper.marker_dir / "host.log"
    identity = host_record(host, "pool=reported tasks=all")
    looks = 0
    with reaper.watch(host, SETTINGS, prefix=preload(ledger)) as watch:
        watch.until_event(event="start")  # from here on SIGHUP reloads, and a configuration may be missing
        writer = subprocess.Popen(
            [sys.executable, "-B", REPLACE, log, reaper.config, identity, worker.identity, str(SECONDS)],
            stdout=subprocess.PIPE, text=True)
        calm = time.monotonic() + SECONDS - CALM_S
        try:
            fds = None
            while writer.poll() is None:
                if time.monotonic() < calm:
                    watch.process.send_signal(signal.SIGHUP)
                result = reaper.run("--json", "audit", host=host, prefix=preload(ledger))
                assert result.rc in (0, 2), result  # 2: no such key, at that moment
                looks += 1
                if result.rc == 0:
                    found = result.worker(worker)
                    assert found["verdict"] == "keep" and len(set(found["tasks"])) == len(
                        found["tasks"])
                if fds is None and watch.process.poll() is None and looks > 5:
                    fds = len(os.listdir(f"/proc/{watch.process.pid}/fd"))
                time.sleep(0.05)
            replaced, tasks = map(int, writer.communicate()[0].split())
            assert writer.returncode == 0
            look_twice(watch)  # the last log is read to its end
            assert watch.process.poll() is None, "watch lives through all of it"
            assert fds is not None and len(os.listdir(
                f"/proc/{watch.process.pid}/fd")) <= fds + 2
            judge_last_log(reaper, worker, log.read_text(), tasks)
            reloads = count_reloads(watch)
            shown = replace_in_view(watch, log, identity, worker, tasks)
            believe_beats(watch, worker, log, shown)
            assert reloads and count_reloads(watch) == reloads, "nothing was read afresh since the storm"
        finally:
            if writer.poll() is None:
                writer.kill()
                writer.communicate()
    assert replaced > 100 * SECONDS / 10 and looks > SECONDS, (replaced, looks)


def look_twice(watch: Watch) -> None:
    """The first look that ends now may have begun before."""
    def count() -> int:
        return sum(message.startswith("STATUS=") for message in watch.receive())

    before = count()
    watch.until("two looks", lambda: count() >= before + 2, 15)


def count_reloads(watch: Watch) -> int:
    return sum(event["event"] == "reload" for event in watch.events())


def tasks_of(records: list[str]) -> list[str]:
    return [line.split("task=")[1].split()[0] for line in records if " begin " in line]


def judge_last_log(reaper: Reaper, worker: Worker, text: str, tasks: int) -> None:
    """Who reads it for the first time knows all three of its tasks."""
    explained = reaper.run("--json", "explain", str(worker.pid)).expect(0).doc
    row, = (w for w in explained["workers"] if w["pid"] == worker.pid)
    last = tasks_of(text.splitlines())
    assert len(last) == 3 and last[-1] == f"t{tasks}"
    assert row["marker"] == "ended" and set(row["tasks"]) == set(last), row
    assert "3 tasks bound, 0 open" in reaper.run("explain", str(worker.pid)).expect(0).out
    assert worker.serves()


def replace_in_view(watch: Watch, log: pathlib.Path, identity: str, worker: Worker, tasks: int) -> list[str]:
    """Each way to replace a log once more, slowly: the watch looks at what was before, and reads on. Returns the
    tasks that it was shown: those of a log that is gone were no less the worker's."""
    def whole(count: int) -> str:
        """The tasks follow a beat, so that the next one counts them all; but ended before it."""
        nonlocal tasks
        text = record(identity, 0.9) + record("beat n=1")
        for tasks in range(tasks + 1, tasks + 1 + count):
            text += record(f"begin task=t{tasks} worker={worker.identity}", 0.8)
            text += record(f"end task=t{tasks}", 0.8)
        return text

    new = log.with_suffix(".new")
    shown = whole(IN_FIRST)
    new.write_text(shown)
    with open(log, "rb"):  # else the new file could be given the number of the old one
        new.rename(log)
        look_twice(watch)
    text = whole(SHOWN - IN_FIRST)
    last, torn = text.rindex("reaper/1", 0, text.rindex("reaper/1")), text.rindex(" task=")
    log.write_text(text[:last])  # the same file, longer than it was
    for more in (text[last:torn], text[torn:]):  # a record and half of one, then its other half
        look_twice(watch)
        with open(log, "a", encoding="ascii") as out:
            out.write(more)
    look_twice(watch)
    return tasks_of((shown + text).splitlines())


def believe_beats(watch: Watch, worker: Worker, log: pathlib.Path, shown: list[str]) -> None:
    """Two lists of nobody prove the worker leaked if they count each record of each log that is there: once, and
    none too few. Then the watch says by which tasks."""
    for count, wait_s in ((2 * (SHOWN - IN_FIRST), APART_S), (0, 0)):
        assert worker.is_alive()
        with open(log, "a", encoding="ascii") as out:
            out.write(record(f"beat n={count}"))
        time.sleep(wait_s)
    watch.until_event(event="action", pid=worker.pid)
    told = watch.until_event(event="verdict", pid=worker.pid, verdict="reap")
    assert (told["reason"], told["fence"]) == ("task-ended", "task-ended"), told
    assert sorted(told["tasks"]) == sorted(shown), told
