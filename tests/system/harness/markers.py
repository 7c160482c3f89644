# SPDX-License-Identifier: Apache-2.0
"""Marker records as their writers would write them, now or some time ago."""

from __future__ import annotations

import os
import pathlib
import time

from harness.minihost import MiniHost, Worker

BOOT_ID = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
PID_NS = os.readlink("/proc/self/ns/pid")[len("pid:["):-1]


def record(text: str, age_s: float = 0, now_ms: int = 0) -> str:
    """One line of a marker log, written so many seconds ago (0: before now)."""
    return f"reaper/1 {(now_ms or time.time_ns() // 1_000_000) - int(age_s * 1000)} {text}\n"


def host_record(host: MiniHost, promises: str, class_name: str = "pyspark") -> str:
    """What the first record of a host's log says after its time."""
    return (f"host host={host.pid}:{host.start} boot={BOOT_ID} pidns={PID_NS} "
            f"class={class_name} {promises}")


def operator_record(uid: int) -> str:
    """The same of an operator's log."""
    return f"operator uid={uid} boot={BOOT_ID} pidns={PID_NS}"


def tasks_that_ended(workers: list[Worker]) -> list[str]:
    """One task of each worker, begun and ended."""
    return [f"{event} task={task}{f' worker={worker.identity}' if event == 'begin' else ''}"
            for task, worker in enumerate(workers, 1) for event in ("begin", "end")]


class PastLog:
    """A host's log that tells of the past, to be written when it is told."""

    def __init__(self, host: MiniHost, promises: str, class_name: str, age_s: float) -> None:
        self.text = ""
        self.since_beat = 0
        self.now_ms = time.time_ns() // 1_000_000  # of all of it
        self.add(age_s, host_record(host, promises, class_name))

    def add(self, age_s: float, *records: str) -> None:
        """Records of so many seconds ago."""
        for text in records:
            self.text += record(text, age_s, self.now_ms)
            self.since_beat += 1

    def beat(self, age_s: float) -> None:
        """A beat says how many records came since the last one; the first record counts too."""
        self.text += record(f"beat n={self.since_beat}", age_s, self.now_ms)
        self.since_beat = 0
