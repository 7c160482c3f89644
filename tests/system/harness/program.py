# SPDX-License-Identifier: Apache-2.0
"""A Python program of its own, forked by no daemon."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

from harness import procs


class Program:
    """A script that prints `ready`; always ended by the test that began it."""

    def __init__(self, script: pathlib.Path, code: str, *args: str,
                 env: dict[str, str] | None = None) -> None:
        script.write_text(code)
        # The kernel forgets when a thread last ran if it moves that to another CPU.
        cpu = min(os.sched_getaffinity(0))
        self.process = subprocess.Popen([sys.executable, script, *args], env=env,
                                        preexec_fn=lambda: os.sched_setaffinity(0, {cpu}),
                                        stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        self.pinned = procs.Pinned(self.pid)
        self.start = self.pinned.start
        assert self.says() == "ready\n"

    def says(self) -> str:
        """The next line that it prints."""
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def finish(self) -> None:
        if self.process.poll() is None:
            self.pinned.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.pinned.close()
