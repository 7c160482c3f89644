# SPDX-License-Identifier: Apache-2.0
"""How the check builds reaper, runs `make check` and pytest, and counts their tests by their own reports."""

from __future__ import annotations

import collections
import os
import pathlib
import re
import subprocess
import threading
import xml.etree.ElementTree as xml
from dataclasses import dataclass

from check_figures import Figure
from check_run import BUILD, LOGS, REPO, Done, Part

PYTHON = "/usr/bin/python3"
AGAIN_MOST = 12  # tests of one run that get a second chance; more than that is no accident
ONLY_ONCE = ("tests/spark/", "tests/pyjava/", "tests/faults/", "test_abuse", "test_bad_markers", "test_dry_run",
             "test_jar_markers", "test_load", "test_only_the_due_end", "test_replaced_files", "test_sandbox",
             "test_singles")
# What no wait can be blamed for, as pytest tells it: somebody who was to live does not, or more were ended than
# were to be.
HARM = re.compile(r"^E +\+ +where False = .*\b(serves|is_alive)\b|^E +Extra items in the left set", re.M)
# Of a run of pytest; what failed is told when it is known who gets a second chance.
PROGRESS = re.compile(r"\b(PASSED|SKIPPED|XFAIL)\b|^=+ .* in ")
BUILDING = threading.Lock()  # one autoreconf at a time, and nobody builds what another tests
SYNTHESIS = re.compile(
    r"Synthesis: Tested: (\d+) \| Passing: (\d+) \| Failing: (\d+) \| Crashing: (\d+)")
CRITERION_SKIP = re.compile(r"^\[SKIP\] ([\w:]+): (.*)", re.M)


def build(part: Part, folder: str = "", *configure: str, env: dict[str, str] | None = None) -> bool:
    """Configure and build in build/FOLDER, once in a run; a failure is a failed test."""
    with BUILDING:
        if folder not in part.tally.built:
            part.tally.built[folder] = build_now(part, folder, *configure, env=env)
    return part.tally.built[folder]


def build_now(part: Part, folder: str, *configure: str, env: dict[str, str] | None) -> bool:
    where = BUILD / folder
    words = " ".join(["build_reaper", str(where), *(f"'{word}'" for word in configure)])
    script = f". {REPO}/tools/lib.sh && {words}"
    done = part.run(f"build {folder or 'gcc'}", ["bash", "-euo", "pipefail", "-c", script, "check"],
                    env=env)
    if not done.ok:
        part.failed(f"build {folder or 'gcc'}", done.why(), part.tail(done))
    return done.ok


def count_make_check(part: Part, folder: pathlib.Path, done: Done, label: str) -> None:
    """Every script of `make check` is a test, and every test of every criterion program."""
    results = sorted(folder.glob("t*/**/*.trs"))
    if not results or done.timed_out:
        part.failed(f"make check, {label}", done.why(), part.tail(done))
        return
    passed = 0
    for trs in results:
        name = str(trs.relative_to(folder).with_suffix(""))
        found = re.search(r"^:test-result: (\w+)", trs.read_text(), re.M)
        result = found.group(1) if found else "nothing"
        log = re.sub(r"\x1b\[[0-9;]*m", "", trs.with_suffix(".log").read_text(errors="replace"))
        synthesis = SYNTHESIS.search(log)
        skips = CRITERION_SKIP.findall(log)
        for test, why in skips:
            part.skipped(f"{label}: {test}", why)
        if result == "SKIP":
            part.skipped(f"{label}: {name}", (log.strip().splitlines() or ["says nothing"])[0])
        elif result != "PASS":
            part.failed(f"{label}: {name}", result, log)
        elif name.startswith("tests/unit/") and not skips and (
                not synthesis or synthesis.group(1) == "0"):
            part.failed(f"{label}: {name}", "ran no test")
        if synthesis:
            passed += int(synthesis.group(2))
        elif result == "PASS":
            passed += 1
    part.passed(f"make check, {label}", passed)
    if not done.ok and not part.failures:
        part.failed(f"make check, {label}", done.why(), part.tail(done))


def make_check(part: Part, folder: str, label: str) -> None:
    where = BUILD / folder
    for old in where.glob("t*/**/*.trs"):
        old.unlink()
    done = part.run(f"make check, {label}", ["make", "-k", f"-j{os.cpu_count()}", "check"], cwd=where)
    count_make_check(part, where, done, label)


def own_namespaces() -> list[str]:
    """A prefix for a pid and a network namespace of one's own, where that is allowed."""
    prefix = ["unshare", "--pid", "--net", "--fork", "--kill-child", "--mount-proc",
              "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    tried = subprocess.run([*prefix, "true"], capture_output=True, timeout=60, check=False)
    return prefix if tried.returncode == 0 else []


def run_pytest(part: Part, label: str, report: pathlib.Path, tests: list[str],
               env: dict[str, str], at_once: int = 1) -> Done:
    """One run of pytest; its report is the only thing that is counted."""
    report.unlink(missing_ok=True)
    spread = ["-n", str(at_once), "--dist", "loadfile"] if at_once > 1 else []
    if tests == ["tests/spark"]:
        spread.append("--ignore=tests/spark/test_chaos.py")  # a part of its own
    # Faults tell a call by its number, which is another as soon as there is one process or socket more.
    prefix = own_namespaces() if part.name == "faults" else []
    return part.run(
        f"pytest {' '.join(tests[:2])}{' ...' if tests[2:] else ''}, {label}",
        [*prefix, PYTHON, "-m", "pytest", "-v", "-ra", "--tb=short", "--color=no",
         "-p", "no:cacheprovider", "-o", "junit_family=xunit2", f"--junit-xml={report}", *spread, *tests],
        env={"REAPER_BIN": str(BUILD / "reaper"), **env}, show=PROGRESS)


def node_of(classname: str, name: str) -> str:
    """FILE::[CLASS::]NAME, as pytest takes it, of a dotted name that does not tell them apart."""
    words = classname.split(".")
    for count in range(len(words), 0, -1):
        file = "/".join(words[:count]) + ".py"
        if (REPO / file).exists():
            return "::".join([file, *words[count:], name])
    return f"{classname}::{name}"


@dataclass
class Result:
    """What became of a test of pytest."""

    how: str  # passed, failed or skipped
    message: str = ""
    trace: str = ""
    attack: str = ""  # by what, where the test says that it is one


def read_report(report: pathlib.Path) -> dict[str, Result]:
    """Every test by its node id."""
    results = {}
    for case in xml.parse(report).iter("testcase") if report.exists() else ():
        node = node_of(case.get("classname") or "", case.get("name") or "")
        bad = case.find("failure") if case.find("failure") is not None else case.find("error")
        skipped = case.find("skipped")
        if bad is not None:
            results[node] = Result("failed", (bad.get("message") or "").split("\n")[0][:200], bad.text or "")
        elif skipped is not None:
            results.setdefault(node, Result("skipped", (skipped.get("message") or "").split("\n")[0]))
        else:
            results.setdefault(node, Result("passed"))
        for one in case.iter("property"):
            if one.get("name") == "attack":
                results[node].attack = one.get("value") or ""
    return results


def attacks(results: dict[str, Result]) -> list[Figure]:
    """How many were tried, of each kind."""
    tried = [result for result in results.values() if result.attack and result.how != "skipped"]
    wrong = collections.Counter(result.attack for result in tried if result.how == "failed")
    return [Figure(f"attacks by {kind}", count, "attacks", wrong[kind])
            for kind, count in collections.Counter(result.attack for result in tried).items()]


def pytest(part: Part, label: str, folder: str, env: dict[str, str], at_once: int = 1) -> None:
    """Run a folder of tests, so many files at once, and count them by pytest's own report.

    A few that fail are run once more, alone, and told apart: a busy machine can make a bounded wait
    too short. What says that somebody healthy was ended gets no second chance, whichever test finds it.
    """
    stem = f"{part.name}-{label}".replace(" ", "-")
    done = run_pytest(part, label, LOGS / f"{stem}.xml", [folder], env, at_once)
    results = read_report(LOGS / f"{stem}.xml")
    again = [node for node, result in results.items()
             if result.how == "failed" and not any(word in node for word in ONLY_ONCE)
             and not HARM.search(result.trace)]
    if again and len(again) <= AGAIN_MOST:
        for node in again:
            part.say(f"to be run again: {node} ({results[node].message})")
        run_pytest(part, f"{label}, again", LOGS / f"{stem}-again.xml", again, env)
        for node, result in read_report(LOGS / f"{stem}-again.xml").items():
            if node in again and result.how == "passed":
                part.say(f"passed when run again: {node}")
                results[node] = result
    passed = failed = 0
    for node, result in results.items():
        passed += result.how == "passed"
        failed += result.how == "failed"
        if result.how == "failed":
            part.failed(f"{label}: {node}", result.message, result.trace)
        elif result.how == "skipped":
            part.skipped(f"{label}: {node}", result.message)
    if part.name == "system":  # what is the same under sanitizers counts once
        part.count(attacks(results))
    if passed:
        part.passed(f"{folder}, {label}", passed)
    if not done.ok and not failed and not again:
        part.failed(f"pytest {folder}, {label}", done.why(), part.tail(done))
