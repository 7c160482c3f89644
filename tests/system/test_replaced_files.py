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

from harness.binary import Reaper
from harness.markers import host_record
from harness.minihost import MiniHost

REPLACE = pathlib.Path(__file__).resolve().parents[1] / "hosts" / "replace.py"
SECONDS = float(os.environ.get("REAPER_REPLACE_S", "60"))
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
    writer = subprocess.Popen(
        [sys.executable, "-B", REPLACE, log, reaper.config,
         host_record(host, "pool=reported tasks=all"), worker.identity, str(SECONDS)],
        stdout=subprocess.PIPE, text=True)
    looks = 0
    try:
        with reaper.watch(host, SETTINGS, prefix=preload(ledger)) as watch:
            watch.until_event(event="start")  # from here on SIGHUP reloads
            fds = None
            while writer.poll() is None:
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
            time.sleep(2.5)  # two more looks: the last log is read to its end
            assert watch.process.poll() is None, "watch lives through all of it"
            assert fds is not None and len(os.listdir(
                f"/proc/{watch.process.pid}/fd")) <= fds + 2
    finally:
        if writer.poll() is None:
            writer.kill()
            writer.communicate()
    assert replaced > 100 * SECONDS / 10 and looks > SECONDS, (replaced, looks)

    text = log.read_text()
    explained = reaper.run("--json", "explain", str(worker.pid)).expect(0).doc
    row, = (w for w in explained["workers"] if w["pid"] == worker.pid)
    last = [line.split("task=")[1].split()[0] for line in text.splitlines() if " begin " in line]
    assert len(last) == 3 and last[-1] == f"t{tasks}"
    assert row["marker"] == "ended" and set(row["tasks"]) == set(last), row
    assert "3 tasks bound, 0 open" in reaper.run("explain", str(worker.pid)).expect(0).out
    assert worker.serves()
