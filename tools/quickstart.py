# SPDX-License-Identifier: Apache-2.0
"""Show reaper on three workers of one daemon: one pooled, one busy, one leaked.

With --spark PYTHON the JVM is a real local Spark, driven by tools/quickstart_spark.py under that
Python; without it, the small JVM host of the system tests. Every process that is started here is
ended here, whatever happens.
"""

from __future__ import annotations

import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import sys
import time
import uuid
from typing import Any

REPO = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPO / "tests" / "system"))

from harness import procs  # noqa: E402
from harness.minihost import MiniHost, Worker  # noqa: E402

REAPER = REPO / "build" / "reaper"
WORK = REPO / "build" / "quickstart"
TAG = "REAPER_QUICKSTART"
START_S = 240  # a cold Spark on a busy machine
JOB_S = 60
DUE_S = 20
SLOW_ROWS = 3
SLOW_S = 12  # of the small JVM's slow task: longer than the show takes


class DidNotHold(Exception):
    """Something that this program shows was not so."""


def say(text: str) -> None:
    print(f"quickstart: {text}", flush=True)


def check(what: str, holds: bool) -> None:
    if not holds:
        raise DidNotHold(f"expected that {what}")


class SparkHost:
    """A real Spark: a driver in Python, its JVM, its Python daemon and its workers."""

    what = "Spark"

    def __init__(self, python: str) -> None:
        self.tag = f"{TAG}={uuid.uuid4()}"
        self.log = WORK / "spark.log"
        self.unread = b""
        key, value = self.tag.split("=")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [python, "-B", str(REPO / "tools" / "quickstart_spark.py"), str(WORK)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, cwd=WORK,
                start_new_session=True,
                env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(WORK), "LC_ALL": "C.UTF-8",
                     "PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": python,
                     "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_DIRS": str(WORK / "spark-local"),
                     "PYTHONDONTWRITEBYTECODE": "1", key: value})

    def start(self) -> int:
        started = self.ask("start", START_S)
        self.what = f"Spark {started['version']}"
        return int(started["jvm"])

    def ask(self, command: str, patience_s: float = JOB_S) -> dict[str, Any]:
        """One command to the driver, one line of JSON back."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(command.encode() + b"\n")
        self.process.stdin.flush()
        deadline = time.monotonic() + patience_s
        while b"\n" not in self.unread:
            patience = max(0.0, deadline - time.monotonic())
            if not select.select([self.process.stdout], [], [], patience)[0]:
                raise DidNotHold(f"Spark did not answer {command!r} (log: {self.log})")
            data = os.read(self.process.stdout.fileno(), 65536)
            if not data:
                raise DidNotHold(f"Spark ended before it answered {command!r} (log: {self.log})")
            self.unread += data
        line, self.unread = self.unread.split(b"\n", 1)
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise DidNotHold(f"Spark, asked for {command!r}: {answer['error']} (log: {self.log})")
        return answer

    def leak(self) -> int:
        return int(self.ask("leak")["worker"])

    def slow(self) -> int:
        return int(self.ask("slow")["worker"])

    def pool(self) -> int:
        return int(self.ask("pool")["worker"])

    def finish_slow(self) -> str:
        rows = self.ask("finish")["rows"]
        check(f"the slow task loses nothing, got {rows} rows", rows == SLOW_ROWS)
        return f"the slow task ended with all its {rows} rows"

    def family(self) -> list[procs.Stat]:
        mine = {self.process.pid} if self.process.returncode is None else set()
        return procs.family(mine, mine, self.tag.encode())

    def end(self) -> list[procs.Stat]:
        left = procs.end_family(self.family)
        self.process.wait(10)
        return left


class SmallHost:
    """The JVM host of the system tests, which drives its daemon by Spark's protocol."""

    what = "a small JVM host"

    def __init__(self) -> None:
        self.host: MiniHost | None = None
        self.pooled: Worker | None = None

    def start(self) -> int:
        self.host = MiniHost(REPO / "tests" / "hosts", WORK)
        self.daemon = self.host.daemon()
        return self.host.pid

    def leak(self) -> int:
        return self.daemon.leak()[0].pid

    def slow(self) -> int:
        self.busy = self.daemon.open()
        self.busy.task(f"sleep {SLOW_S}")
        return self.busy.pid

    def pool(self) -> int:
        if self.pooled is None:
            self.pooled = self.daemon.open()
        if not self.pooled.serves():
            raise DidNotHold("the pooled worker did not serve the next task")
        return self.pooled.pid

    def finish_slow(self) -> str:
        """The sleep ends by itself."""
        pid = self.busy.pid
        procs.until("the slow task ends", lambda: procs.is_waiting(pid, "pool"), SLOW_S + JOB_S)
        check("its worker takes the next task", self.busy.serves())
        return "the slow task ended, and its worker took another"

    def end(self) -> list[procs.Stat]:
        if self.host is not None:
            self.host.finish()
        return []


class Reaper:
    """The program, let loose on one JVM only, with files of its own."""

    def __init__(self, jvm: int) -> None:
        self.options = ["--host", str(jvm)]
        for setting in (
            "policy.timeout=1s", "policy.min_age=1s", "policy.sample=500ms",
            f"reaper.state_dir={WORK}/state", f"reaper.marker_dir={WORK}/markers",
            f"reaper.audit_log={WORK}/audit.jsonl",
        ):
            self.options += ["--set", setting]

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        # Without a -c FILE the machine's own configuration would have a say here.
        return subprocess.run([str(REAPER), "-c", str(WORK / "reaper.conf"), *self.options, *command],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=JOB_S,
                              check=False)

    def explain_options(self) -> None:
        words = [word.replace(f"{REPO}/", "") for word in self.options]
        pairs = [" ".join(words[i:i + 2]) for i in range(0, len(words), 2)]
        say("`reaper` below stands for build/reaper with these options:")
        for pair in pairs:
            print(f"    {pair}")

    def show(self, *command: str) -> int:
        """Run it for the reader: what was asked, what it said."""
        print(f"\n== reaper {' '.join(command)} ==", flush=True)
        done = self.run(*command)
        print((done.stdout + done.stderr).rstrip() or "(silent)")
        print(f"(exit status {done.returncode})", flush=True)
        return done.returncode

    def verdicts(self) -> dict[int, tuple[str, str]]:
        done = self.run("--json", "audit")
        check(f"audit works: {done.stderr.strip()}", done.returncode in (0, 1))
        return {w["pid"]: (w["verdict"], w["reason"]) for w in json.loads(done.stdout)["workers"]}


def wait_until_due(reaper: Reaper, leaked: int) -> dict[int, tuple[str, str]]:
    """A fenced worker is due a second after the host hung up."""
    deadline = time.monotonic() + DUE_S
    while True:
        verdicts = reaper.verdicts()
        if verdicts.get(leaked, ("", ""))[0] == "reap" or time.monotonic() > deadline:
            return verdicts
        time.sleep(0.3)


def alive(worker: procs.Pinned) -> bool:
    return not worker.has_ended()


def demonstrate(host: SparkHost | SmallHost) -> str:
    """The show itself; the sentence that says what was shown."""
    say(f"starting {host.what} ...")
    jvm = host.start()
    leaked = procs.Pinned(host.leak())
    busy = procs.Pinned(host.slow())
    pooled = procs.Pinned(host.pool())
    check("these are three workers", len({leaked.pid, busy.pid, pooled.pid}) == 3)
    say(f"{host.what} is JVM {jvm}, with one Python daemon and three workers:")
    print(f"    {pooled.pid}  pooled: waits for its next task")
    print(f"    {busy.pid}  serves a slow task")
    print(f"    {leaked.pid}  leaked: the JVM has hung up, it sits in poll() for ever")
    reaper = Reaper(jvm)
    reaper.explain_options()

    verdicts = wait_until_due(reaper, leaked.pid)
    audit = reaper.show("audit")
    check(f"the leaked worker is to be ended, found {verdicts}",
          verdicts.get(leaked.pid) == ("reap", "peer-closed"))
    for worker in (busy, pooled):
        check(f"worker {worker.pid} is kept, found {verdicts}", verdicts.get(worker.pid, "")[0] == "keep")
    check("audit says by its exit status that a leak is there", audit == 1)
    check("explain works", reaper.show("explain", str(leaked.pid)) == 0)
    check("sweep ended all that was due", reaper.show("sweep") == 0)
    check("the leaked worker is gone", not alive(leaked))
    check("the other two live", alive(busy) and alive(pooled))
    check("audit finds no leak any more", reaper.show("audit") == 0)

    print("\n== the next job ==", flush=True)
    next_worker = host.pool()
    say(f"it ran on worker {next_worker}, from the pool")
    check("the next job ran on the pooled worker", next_worker == pooled.pid)
    say(host.finish_slow())
    check("both workers still live", alive(busy) and alive(pooled))
    return (f"it held: reaper found leaked worker {leaked.pid} of {host.what}, explained it and ended "
            "it; the pooled and the busy one lived on, and the next job worked")


def interrupted(number: int, _frame: object) -> None:
    raise KeyboardInterrupt(signal.Signals(number).name)


def main(argv: list[str]) -> int:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupted)
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True, mode=0o755)
    (WORK / "reaper.conf").write_text("# SPDX-License-Identifier: Apache-2.0\n")
    (WORK / "reaper.conf").chmod(0o644)
    host: SparkHost | SmallHost | None = None
    failed, sentence = True, ""
    try:
        host = SparkHost(argv[2]) if argv[1:2] == ["--spark"] else SmallHost()
        sentence = demonstrate(host)
        failed = False
    except KeyboardInterrupt as signal_name:
        sentence = f"interrupted ({signal_name})"
    except Exception as error:  # whatever it was, the line at the end says it
        sentence = f"it did not hold: {str(error) or type(error).__name__}"
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        left = host.end() if host is not None else []
    print(flush=True)
    if left:
        failed, sentence = True, f"still alive: {left}"
    say(sentence)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
