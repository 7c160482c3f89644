# SPDX-License-Identifier: Apache-2.0
"""Runs below a systemd of its own (harness/booted.py): units of ours against hosts of a user and of
root.  Prints what it saw, as JSON; test_unit.py judges it."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import time
from typing import Any

from harness.minihost import MiniHost, Worker

TEST = pathlib.Path("/run/test")
MARKERS = pathlib.Path("/run/reaper/markers")
UID = 59999  # an id that no account has, and none of harness/privilege.py
FAST = ("policy.timeout=2s", "policy.min_age=1s", "policy.sample=200ms", "policy.term_grace=2s",
        "policy.kill_grace=2s", "reaper.interval=1s")
WATCHDOG_S = 3
SOME = 300_000


def call(*argv: str, check: bool = True) -> str:
    done = subprocess.run(argv, check=False, capture_output=True, text=True)
    assert not check or done.returncode == 0, (argv, done.stdout, done.stderr)
    return done.stdout


def shown(unit: str, name: str) -> str:
    return call("systemctl", "show", unit, "-p", name, "--value").strip()


def drop_in(unit: str, args: str, hosts: list[MiniHost], more: str = "") -> None:
    """The unit's own command, quicker and for these hosts alone."""
    folder = pathlib.Path(f"/etc/systemd/system/{unit}.d")
    folder.mkdir(exist_ok=True)
    command = [f"{TEST}/reaper", *(f"--set {text}" for text in FAST),
               *(f"--host {host.pid}" for host in hosts), args]
    (folder / "test.conf").write_text(
        f"[Service]\n{more}\nExecStart=\nExecStart={' '.join(command)}\n")
    call("systemctl", "daemon-reload")


class Scene:
    """A host of a user's and one of root's, each with daemons of both kinds of socket."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.hosts = [MiniHost(TEST / "hosts", folder, uid=UID), MiniHost(TEST / "hosts", folder)]
        self.tcp = [host.daemon() for host in self.hosts]
        self.unix = [host.daemon(where=str(folder / f"{host.pid}.sock")) for host in self.hosts]
        self.pooled = [daemon.open() for daemon in self.tcp + self.unix]

    def leaks(self) -> dict[str, Worker]:
        """One of each kind; the word of an operator is proof of the last."""
        found = {}
        for whose, tcp, unix in zip(("user", "root"), self.tcp, self.unix):
            found[f"{whose}: tcp"] = tcp.leak()[0]
            found[f"{whose}: unix"] = unix.leak()[0]
            early = found[f"{whose}: unread"] = tcp.open()
            early.task(f"poll {SOME}")
            early.read(SOME)
            early.close()
            found[f"{whose}: signed off"] = tcp.open()
            found[f"{whose}: signed off"].task("signoff")
            given_up = found[f"{whose}: retired"] = tcp.open()
            given_up.task("poll")
            call(f"{TEST}/reaper", "retire", str(given_up.pid))
        return found

    def finish(self) -> None:
        for host in self.hosts:
            host.finish()


def left(leaks: dict[str, Worker]) -> list[str]:
    return [name for name, worker in leaks.items() if worker.is_alive()]


def wait_for_all(leaks: dict[str, Worker], timeout_s: float = 20) -> None:
    deadline = time.monotonic() + timeout_s
    while left(leaks) and time.monotonic() < deadline:
        time.sleep(0.2)


def powers(pid: int) -> dict[str, str]:
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}


def swept(scene: Scene) -> dict[str, Any]:
    """The timer's sweep, three times: what no kernel dates is dated by the first."""
    leaks = scene.leaks()
    time.sleep(4)
    drop_in("reaper-sweep.service", "sweep", scene.hosts)
    seen = []
    for _ in range(3):
        call("systemctl", "start", "reaper-sweep.service", check=False)
        seen.append({"left": left(leaks),
                     "status": shown("reaper-sweep.service", "ExecMainStatus")})
        time.sleep(3)
    return {"rounds": seen}


def watched(scene: Scene) -> dict[str, Any]:
    """The service from its start to its end, with a reload in between, and a watchdog."""
    unit = "reaper.service"
    drop_in(unit, "watch", scene.hosts, f"WatchdogSec={WATCHDOG_S}s")
    call("systemctl", "start", unit)
    pid = int(shown(unit, "MainPID"))
    found: dict[str, Any] = {
        "powers": powers(pid),
        "proc": [line for line in pathlib.Path(f"/proc/{pid}/mountinfo").read_text().splitlines()
                 if " /proc " in line],
        "interfaces": [line.split(":")[0].strip() for line in
                       pathlib.Path(f"/proc/{pid}/net/dev").read_text().splitlines()[2:]],
    }
    leaks = scene.leaks()
    wait_for_all(leaks)
    found["left"] = left(leaks)
    time.sleep(2)
    call("systemctl", "reload", unit)
    found["after reload"] = shown(unit, "ActiveState")
    time.sleep(2 * WATCHDOG_S)
    found["same"] = int(shown(unit, "MainPID")) == pid and shown(unit, "NRestarts") == "0"
    found["said"] = shown(unit, "StatusText")
    call("systemctl", "stop", unit)
    found["result"] = shown(unit, "Result")
    found["its sockets"] = shown("reaper.socket", "ActiveState")
    found["journal"] = call("journalctl", "-u", unit, "-o", "cat", "--no-pager").splitlines()
    found["files"] = {str(path): f"{path.stat().st_mode & 0o7777:o}" for path in (
        pathlib.Path("/run/reaper"), MARKERS, pathlib.Path("/run/reaper/history"),
        pathlib.Path("/var/log/reaper"), pathlib.Path("/var/log/reaper/audit.jsonl"))}
    return found


def tried(scene: Scene) -> dict[str, Any]:
    """A dry run of the service, by the lines that its unit has ready; then without them."""
    unit = "reaper.service"
    text = pathlib.Path(f"/etc/systemd/system/{unit}").read_text().splitlines()
    ready = "\n".join(line[1:] for line in text if line.startswith("#CapabilityBoundingSet="))
    drop_in(unit, "-n watch", scene.hosts, f"Restart=no\n{ready}")
    leaks = scene.leaks()
    call("systemctl", "start", unit)
    time.sleep(6)
    found = {"state": shown(unit, "ActiveState"), "powers": powers(int(shown(unit, "MainPID"))),
             "left": left(leaks), "leaks": list(leaks), "said": shown(unit, "StatusText")}
    call("systemctl", "stop", unit)
    for worker in leaks.values():
        worker.pinned.kill()
    drop_in(unit, "-n watch", scene.hosts, "Restart=no")
    call("systemctl", "start", unit, check=False)
    found["without"] = shown(unit, "ExecMainStatus")
    call("systemctl", "reset-failed", unit)
    return found


def main() -> None:
    folder = pathlib.Path("/run/scene")
    folder.mkdir()
    folder.chmod(0o1777)
    for path, mode in ((MARKERS.parent, 0o755), (MARKERS, 0o1777)):  # as etc/reaper.tmpfiles
        path.mkdir()
        path.chmod(mode)
    call("systemctl", "start", "systemd-journald.service")
    scene = Scene(folder)
    try:
        found = {"swept": swept(scene), "watched": watched(scene), "tried": tried(scene)}
        found["pooled"] = {"serve": [worker.serves() for worker in scene.pooled]}
    finally:
        scene.finish()
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    os.umask(0o022)
    main()
