# SPDX-License-Identifier: Apache-2.0
"""A Spark that writes marker logs: its JVMs by the plugin's jar, its Python side by reaper_pyspark.

REAPER_JARS    where the jars are (default: build/jvm/jars, where tools/build-jvm puts them)
"""

import collections
import dataclasses
import os
import pathlib
from typing import Any, Dict, Iterator, List, Tuple

import binary

PYTHON = binary.REPO / "hosts" / "python"
PLUGIN = "reaper.spark.ReaperPlugin"
Record = Tuple[str, Dict[str, str]]


def jar(name: str = "reaper-spark.jar") -> pathlib.Path:
    folder = pathlib.Path(os.environ.get("REAPER_JARS", binary.REPO / "build" / "jvm" / "jars"))
    found = folder / name
    assert found.exists(), f"{found} is not built: tools/build-jvm does"
    return found


def settings(logs: pathlib.Path) -> Dict[str, Any]:
    """What sparkhost.Spark is given: the configuration and the environment."""
    return {
        "conf": {
            "spark.plugins": PLUGIN,
            "spark.jars": str(jar()),
            "spark.python.daemon.module": "reaper_pyspark",
            "spark.executorEnv.PYTHONPATH": str(PYTHON),
            "spark.executorEnv.REAPER_MARKER_DIR": str(logs),
        },
        "env": {"PYTHONPATH": str(PYTHON), "REAPER_MARKER_DIR": str(logs)},
    }


def lines(path: pathlib.Path) -> Iterator[Record]:
    for line in path.read_text("ascii").splitlines():
        version, _, event, *pairs = line.split(" ")
        assert version == "reaper/1", line
        yield event, dict(pair.split("=", 1) for pair in pairs)


@dataclasses.dataclass
class Told:
    """What all logs together say."""

    hosts: List[Dict[str, str]]
    begun: "collections.Counter[Tuple[str, str]]"  # (host, task), by JVMs
    ended: "collections.Counter[Tuple[str, str]]"
    bound: "collections.Counter[Tuple[str, str]]"  # (task, worker), by Python
    done: "collections.Counter[str]"
    beats: int

    @property
    def workers(self) -> set:
        return {worker for _, worker in self.bound}


def told(logs: pathlib.Path) -> Told:
    """Reads every log that is there."""
    said = Told([], collections.Counter(), collections.Counter(), collections.Counter(),
                collections.Counter(), 0)
    for path in sorted(logs.rglob("*.log")):
        host = None
        for event, fields in lines(path):
            if event == "host":
                host = fields["host"]
                said.hosts.append(fields)
            elif event == "begin" and host and "worker" not in fields:
                said.begun[host, fields["task"]] += 1
            elif event == "begin" and not host:  # what a list binds, Python has bound before
                said.bound[fields["task"], fields["worker"]] += 1
            elif event == "end":
                said.ended[host, fields["task"]] += 1
            elif event == "done":
                said.done[fields["worker"]] += 1
            elif event == "beat":
                said.beats += 1
    return said
