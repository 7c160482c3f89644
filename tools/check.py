# SPDX-License-Identifier: Apache-2.0
"""Run the parts of tools/check: build, test, count, and say what failed and why.

A step that crashes, hangs, or leaves a process behind counts as a failed test (check_run.py). Parts run
side by side, those that compute with a lower priority.
"""

from __future__ import annotations

import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import xml.etree.ElementTree as xml
from collections.abc import Callable

import check_figures
from check_run import ALL, BUILD, LOGS, REPO, STOP, Done, Part, Stopped, Tally
from check_tests import BUILDING, PYTHON, build, make_check, own_namespaces, pytest

# The releases whose word counts, Debian 12's: each finds other things than the one before.
JUDGES = {"clang-format": "14", "clang-tidy": "14", "cppcheck": "2.10"}
FILES_AT_ONCE = 3  # of system tests, which wait most of the time
# Lanes, side by side: each takes its parts one by one, then the next of those at the end. What waits most
# of the time goes first on a processor; what computes (the first lane) gets what is left.
LANES = (
    ("jvm", "lint", "unit", "coverage", "mutate", "python", "distcheck", "install",
     "histories", "fuzz"),
    ("spark",),
    ("system", "faults", "pyjava"),
)
AT_THE_END = ("sanitize", "model", "reuse", "quickstart", "load", "longlive")
COMPUTE = (*LANES[0], "model", "reuse")
ALONE = ("chaos", "bench")  # what they measure would be the machine's word beside others
GCC = ("CC=gcc", "--enable-werror", "--without-jars")  # the build that most parts use
INSTALL = ("install", "CC=gcc", "--prefix=/usr")  # the folder of a build with the jars, and how

# What a part may take at most, in seconds: several times what it does take on two idle cores, so
# that only what hangs is ended.
LIMITS = {
    "lint": 900,
    "unit": 900,
    "coverage": 900,
    "mutate": 1800,
    "sanitize": 1500,
    "system": 1200,
    "spark": 1800,
    "pyjava": 1200,
    "jvm": 900,
    "python": 600,
    "distcheck": 1500,
    "quickstart": 300,
    "install": 300,
    "bench": 600,
    "faults": 1800,
    "histories": 1200,
    "model": 1800,
    "fuzz": 3600,
    "reuse": 3600,
    "chaos": 1500,
    "load": 1200,
    "longlive": 7200,
}
MINUTES = int(os.environ.get("REAPER_MINUTES", 0))  # of tools/soak; 0: this is none
LONGER_S = 60 * MINUTES  # each part gets
HISTORIES = int(os.environ.get("REAPER_HISTORIES", 1_000_000))
LIES = 1_000_000  # histories in which each lie of a host must be found
FUZZ_S = int(os.environ.get("REAPER_FUZZ_S", 6))  # for each parser, on each processor
# Executions in 360 minutes of tools/soak, without the sanitizers: many more in a second, and what each of
# these parsers promises of its output is looked at all the same.
FUZZ_RUNS = {
    "fuzz_argv": 25_000_000,
    "fuzz_cmdline_parse": 25_000_000,
    "fuzz_config": 20_000_000,
    "fuzz_diag_reply": 25_000_000,
    "fuzz_marker": 20_000_000,
    "fuzz_net_parse": 75_000_000,
    "fuzz_proc_parse": 75_000_000,
    "fuzz_room_parse": 25_000_000,
}
IN_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK | os.X_OK) else None
CHAOS_S = int(os.environ.get("REAPER_CHAOS_S", 120))  # on all releases of PySpark
CHAOS_SHARE = {"3": 1 / 3, "4": 2 / 3}  # Spark 3.5 does half as many tasks, and takes as long again to do them all
LIVE_S = int(os.environ.get("REAPER_SOAK_S", 600))
CROWD = 4270  # workers
STAT_LINES = int(os.environ.get("REAPER_STAT_LINES", 500_000))  # read by three parsers
PID_REUSES = int(os.environ.get("REAPER_PID_REUSES", 200_000))  # numbers that are given away in the middle of a kill
WAITING = 8  # of these on each processor: most of their time they wait
PID_REUSES_SEEN = 2_000  # of those, that are seen when the signals go by number


def our_files(*patterns: str) -> list[str]:
    # The safe.directory is for root in somebody else's checkout: names are all that is read.
    done = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "--", *patterns], cwd=REPO,
                          check=True, capture_output=True, text=True)
    return [name for name in done.stdout.splitlines() if (REPO / name).exists()]


def shell_files() -> list[str]:
    found = []
    for name in our_files("tools", "tests", "etc", ".ci"):
        with open(REPO / name, "rb") as file:
            first = file.readline(80)
        if name.endswith(".sh") or re.match(rb"#!.*\b(ba)?sh\b", first):
            found.append(name)
    return found


def library_flags() -> list[str]:
    done = subprocess.run(
        ["pkg-config", "--cflags", "libproc2", "libcap", "inih", "jansson", "libmnl", "libseccomp"],
        check=True, capture_output=True, text=True)
    return ["-std=gnu17", "-Isrc", "-D_GNU_SOURCE", '-DPACKAGE_VERSION="0"', '-DSYSCONFDIR="/etc"',
            '-DPACKAGE_NAME="reaper"', *done.stdout.split()]


def judge_by(part: Part, tool: str, argv: list[str]) -> None:
    """Runs a lint, if this is the release that is the judge."""
    told = subprocess.run([tool, "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"\d+(\.\d+)+", told)
    if found and f"{found.group()}.".startswith(f"{JUDGES[tool]}."):
        part.judge(tool, part.run(tool, argv))
    else:
        part.skipped(tool, f"release {JUDGES[tool]} is the judge, this is "
                     f"{found.group() if found else told.strip()}")


def lint(part: Part) -> None:
    sources = our_files("src/*.c")
    judge_by(part, "clang-format",
             ["clang-format", "--dry-run", "-Werror", *our_files("src/*.[ch]", "tests/*.[ch]")])
    part.judge("shellcheck", part.run("shellcheck", ["shellcheck", "-x", *shell_files()]))
    # memleak and resourceLeak: it does not know the cleanup attribute; gcc and LeakSanitizer look.
    judge_by(part, "cppcheck", [
        "cppcheck", "--quiet", "--error-exitcode=1", "--inline-suppr", "--std=c11", "--language=c",
        "--enable=warning,performance,portability", "--platform=unix64", f"-j{os.cpu_count()}",
        "--suppress=missingIncludeSystem", "--suppress=memleak", "--suppress=resourceLeak", "-Isrc", "-D_GNU_SOURCE", "-D__linux__",
        '-DPACKAGE_VERSION="0"', '-DSYSCONFDIR="/etc"', *sources])
    # A third of the steps that clang's analyzer takes by itself, for it is the dearest of all lints;
    # gcc's follows paths too.
    paths = "-Xclang -analyzer-config -Xclang max-nodes=75000"
    tidy = ["xargs", "-a", "@LIST@", "-d", "\\n", "-n", "4", f"-P{os.cpu_count()}",
            "sh", "-c", 'clang-tidy --quiet "$@" -- ' + " ".join(
                f"'{flag}'" for flag in library_flags()) + f" {paths}", "tidy"]
    listed = LOGS / "clang-tidy.files"
    listed.write_text("\n".join(sources) + "\n")
    judge_by(part, "clang-tidy", [str(listed) if word == "@LIST@" else word for word in tidy])
    if build(part, "analyzer", "CC=gcc", "CFLAGS=-g -O2 -fanalyzer", "--enable-werror",
             "--without-jars"):
        part.passed("gcc -fanalyzer")


def unit(part: Part) -> None:
    for folder, compiler in (("", "gcc"), ("clang", "clang")):
        if build(part, folder, f"CC={compiler}", "--enable-werror", "--without-jars"):
            make_check(part, folder, compiler)


def coverage(part: Part) -> None:
    if not build(part, "coverage", "CC=gcc", "--enable-coverage", "--without-jars"):
        return
    where = BUILD / "coverage"
    for old in where.glob("**/*.gcda"):
        old.unlink()
    make_check(part, "coverage", "coverage")
    report = LOGS / "coverage.json"
    report.unlink(missing_ok=True)
    # A branch out of an assert() is taken only by a mistake that no test can make.
    done = part.run("gcovr", [
        "gcovr", "--root", str(REPO), "--filter", "src/decide/", "--filter", "src/correlate/",
        "--exclude-unreachable-branches", "--exclude-lines-by-pattern", r".*\bassert\(",
        "--json", str(report), str(where / "src")])
    if not done.ok:
        part.judge("gcovr", done)
        return
    files = {entry["file"]: entry["lines"] for entry in json.loads(report.read_text())["files"]}
    for name in our_files("src/decide/*.c", "src/correlate/*.c"):
        branches = [branch["count"] for line in files.get(name, []) for branch in line["branches"]]
        missing = sorted({line["line_number"] for line in files.get(name, [])
                          if not line.get("gcovr/noncode") and not line.get("gcovr/excluded") and (
                              not line["count"] or not all(b["count"] for b in line["branches"]))})
        if name not in files:
            part.failed(name, "no unit test runs it")
        elif missing:
            part.failed(name, f"{sum(map(bool, branches))} of {len(branches)} branches are taken; "
                        f"see lines {' '.join(map(str, missing))}")
        else:
            part.passed(f"{name}: all {len(branches)} branches")


def mutate(part: Part) -> None:
    more = ["-a", "-n", str(max(1, 360 // MINUTES))] if MINUTES else []
    # Some tests look at all processes: a crowd beside them would cost each more time than it has.
    done = part.run("tools/mutate-guards", [
        *own_namespaces(), PYTHON, str(REPO / "tools/mutate-guards"), *more], show=ALL)
    found = re.search(r"^(\d+) mutants, (\d+) killed, \d+ are none, (\d+) survived$", done.out, re.M)
    if found:
        part.count([check_figures.Figure("mutants, each killed by a unit test", int(found[2]) + int(found[3]),
                                         "mutants", int(found[3]))])
    survivors = re.findall(r"^(?:SURVIVED|KILLED|broken) +(.*)", done.out, re.M)
    for what in survivors:
        part.failed(what, "no unit test notices")
    if found and int(found.group(2)):
        part.passed("mutants that a unit test killed", int(found.group(2)))
    if not found or (not done.ok and not survivors):
        part.failed("tools/mutate-guards", done.why())
    part.judge("tools/mutate-promises", part.run(
        "tools/mutate-promises", [PYTHON, str(REPO / "tools/mutate-promises")], show=ALL))


def sanitize(part: Part) -> None:
    if not part.judge("jars", jars_done(part)) or not build(
            part, "asan", "CC=gcc", "--enable-sanitizers", "--enable-werror", "--without-jars"):
        return
    make_check(part, "asan", "sanitizers")
    pytest(part, "sanitizers", "tests/system", at_once=FILES_AT_ONCE, env={
        "REAPER_BIN": str(BUILD / "asan" / "reaper"),
        "REAPER_REPLACE_S": "20",  # the whole minute is the shipped binary's
        # A report must not look like one of the program's own exit statuses.
        "ASAN_OPTIONS": "exitcode=99:detect_leaks=1",
        "UBSAN_OPTIONS": "exitcode=99:print_stacktrace=1"})


def jars_done(part: Part) -> Done:
    """Builds what JVM hosts run; only once in a run, whoever needs it first."""
    with BUILDING:
        return part.run("jars", [str(REPO / "tools/build-jvm")])


def jvm(part: Part) -> None:
    """Builds the jars; Maven has run their tests by then."""
    done = jars_done(part).ok
    passed = 0
    for report in sorted(BUILD.glob("jvm/tree/*/target/surefire-reports/TEST-*.xml")):
        for case in xml.parse(report).getroot().iter("testcase"):
            name = f"{case.get('classname')}.{case.get('name')}"
            if case.find("failure") is not None or case.find("error") is not None:
                part.failed(name, "see build/jvm/maven.log")
            elif case.find("skipped") is not None:
                part.skipped(name, case.find("skipped").get("message") or "says nothing")
            else:
                passed += 1
    if passed:
        part.passed("tests of the jars", passed)
    if not done:
        part.failed("tools/build-jvm", "see build/jvm/maven.log")
    elif not passed:
        part.failed("tests of the jars", "none was run")


def python(part: Part) -> None:
    """The wheel of hosts/python: built, installed where nothing else is, and run."""
    folder = BUILD / "wheel"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(REPO / "hosts/python", folder / "source",
                    ignore=shutil.ignore_patterns("__pycache__"))
    venv = folder / "venv"
    steps = (
        ("a virtual environment", [PYTHON, "-m", "venv", str(venv)]),
        ("build the wheel", [str(venv / "bin/pip"), "wheel", "-q", "--no-deps", "-w", str(folder),
                             str(folder / "source")]),
        ("vermin", [str(venv / "bin/pip"), "install", "-q", "vermin"]),
        ("no syntax or module newer than Python 3.8",
         [str(venv / "bin/vermin"), "-t=3.8-", "--no-tips", "--violations",
          str(folder / "source")]),
    )
    for what, argv in steps:
        if not part.judge(what, part.run(what, argv)):
            return
    wheel, = folder.glob("reaper_markers-*.whl")
    if not part.judge("install the wheel", part.run(
            "install the wheel", [str(venv / "bin/pip"), "install", "-q", "--no-deps", str(wheel)])):
        return
    logs = folder / "markers"
    part.judge("a program that uses it", part.run(
        "a program that uses it",
        [str(venv / "bin/python"), "-c",
         "import reaper_markers as r\nwith r.task('1'): pass\nassert r.done()\n"
         "import importlib.util as u\n"
         "assert u.find_spec('reaper_pyspark') and u.find_spec('reaper_pyjava')"],
        env={"REAPER_MARKER_DIR": str(logs)}))
    records = [line.split(" ")[2] for path in logs.glob("*.log")
               for line in path.read_text().splitlines()]
    if records == ["host", "begin", "end", "done"]:
        part.passed("its log")
    else:
        part.failed("its log", f"{records}")


# What the system tests need beside the program.
BROKEN = ["tests/torture/always_reap", "tests/torture/never_dry"]


def system(part: Part) -> None:
    if build(part, "", *GCC) and part.judge("jars", jars_done(part)) and part.judge(
            "make always_reap never_dry", part.run("make", ["make", *BROKEN], cwd=BUILD)):
        pytest(part, "small JVM host", "tests/system", {}, FILES_AT_ONCE)


def pyjava(part: Part) -> None:
    if not build(part, "", *GCC) or not part.judge("jars", jars_done(part)):
        return
    made = part.run("pyjava", [str(REPO / "tools/pyjava-env")], show=ALL)
    if part.judge("tools/pyjava-env", made):
        pytest(part, "pyjava", "tests/pyjava",
               {"REAPER_PYJAVA_JAR": str(BUILD / "jvm/jars/reaper-pyjava.jar")})


def spark(part: Part) -> None:
    on_each_release(part, "tests/spark")


def chaos(part: Part) -> None:
    """Apart from the others, since it takes as long as it is told."""
    on_each_release(part, "tests/spark/test_chaos.py", lambda version: {
        "REAPER_CHAOS_S": str(round(CHAOS_S * CHAOS_SHARE[version.split(".")[0]]))})


def longlive(part: Part) -> None:
    """Only when named: what a test of the Spark part does for a minute, for long."""
    on_each_release(part, "tests/spark/test_both_markers.py", lambda _: {
        "REAPER_SOAK_S": str(LIVE_S), "PYTEST_ADDOPTS": "-k soak"})


def load(part: Part) -> None:
    """Only when named: ten times the crowd of the system tests."""
    if build(part, "", *GCC) and part.judge("jars", jars_done(part)):
        pytest(part, "a crowd", "tests/system/test_load.py", {"REAPER_LOAD": str(CROWD)})


def on_each_release(part: Part, tests: str, env: Callable[[str], dict[str, str]] = lambda _: {}) -> None:
    if not build(part, "", *GCC) or not part.judge("jars", jars_done(part)):
        return
    done = subprocess.run([str(REPO / "tools/spark-venv"), "--releases"], capture_output=True,
                          text=True, timeout=60, check=False)
    for line in done.stderr.splitlines():
        part.skipped("a PySpark release", line)
    if not done.stdout.split():
        part.failed("PySpark", "no release fits this Python")
    for version in done.stdout.split():
        made = part.run(f"PySpark {version}", [str(REPO / "tools/spark-venv"), version], show=ALL)
        if made.ok:
            pytest(part, f"PySpark {version}", tests, {"REAPER_SPARK": version, **env(version)})
        else:
            part.failed(f"PySpark {version}", made.why())


def distcheck(part: Part) -> None:
    """Each of them builds and tests anew. With gcc the release brings the jars, with clang it has none."""
    for compiler, folder, *configure in (("gcc", *INSTALL), ("clang", "", *GCC)):
        if not build(part, folder, *configure):
            continue
        without = [word for word in configure if word == "--without-jars"]
        flags = " ".join([f"CC={compiler}", "--enable-werror", *without])
        done = part.run(
            f"make distcheck, {compiler}",
            ["make", f"-j{os.cpu_count()}", "distcheck", f"DISTCHECK_CONFIGURE_FLAGS={flags}"],
            cwd=BUILD / folder, env={"VERBOSE": "yes"})  # show what a test that fails has said
        if part.judge(f"make distcheck, {compiler}", done):
            passed = re.findall(r"^PASS: (.+)", done.out, re.M)
            part.passed(f"make check, {compiler}", len(passed))


def quickstart(part: Part) -> None:
    part.judge("tools/quickstart --no-spark", part.run(
        "tools/quickstart --no-spark", [str(REPO / "tools/quickstart"), "--no-spark"], show=ALL))


def bench(part: Part) -> None:
    """Not among the parts that run by themselves: its figures are those of the machine."""
    if build(part, "", *GCC) and part.judge("jars", jars_done(part)):
        part.judge("make bench", part.run(
            "make bench", ["make", "bench", f"JARS_DIR={BUILD}/jvm/jars"], cwd=BUILD, show=ALL))


def faults(part: Part) -> None:
    """Calls and allocations of a sweep fail, and it is killed at any of its calls. Each file has one run at a
    time, in namespaces of its own."""
    files = our_files("tests/faults/test_*.py")
    if build(part, "", *GCC):
        with concurrent.futures.ThreadPoolExecutor(len(files)) as pool:
            list(pool.map(lambda file: pytest(part, pathlib.Path(file).stem, file, {}), files))


def together(part: Part, runs: dict[str, list[str]], folder: pathlib.Path) -> bool:
    """Runs several commands at once; each is a test."""
    with concurrent.futures.ThreadPoolExecutor(len(runs)) as pool:
        done = pool.map(lambda what: part.run(what, runs[what], cwd=folder), runs)
        return all([part.judge(what, one) for what, one in zip(runs, done)])


def shares(total: int, each: int = 1) -> list[int]:
    """A number, divided among so many on each processor."""
    lanes = each * (os.cpu_count() or 1)
    return [total // lanes + (lane < total % lanes) for lane in range(lanes)]


def reuse(part: Part) -> None:
    """The number of a victim, its daemon or its host is given to a stranger before each call of its end."""
    program = "tests/torture/pid_reuse"
    if not build(part, "", *GCC) or not part.judge(
            "make pid_reuse", part.run("make", ["make", program], cwd=BUILD)):
        return
    part.judge("pid_reuse --control", part.run(
        "pid_reuse --control", [f"./{program}", "--control", str(PID_REUSES_SEEN)], cwd=BUILD))
    together(part, {f"pid_reuse {lane}": [f"./{program}", str(trials), str(lane)]
                    for lane, trials in enumerate(shares(PID_REUSES, WAITING))}, BUILD)


def histories(part: Part) -> None:
    """Random histories through correlate/ and decide/, against what is true of them."""
    program = "tests/histories/histories"
    if not build(part, "", *GCC) or not part.judge(
            "make histories", part.run("make", ["make", program], cwd=BUILD)):
        return
    runs = {f"histories {lane}": [f"./{program}", "--seed", str(lane), str(count)]
            for lane, count in enumerate(shares(HISTORIES))}
    if together(part, runs, BUILD):
        part.judge("each lie is found", part.run(
            "histories --control", [f"./{program}", "--control", str(LIES)], cwd=BUILD))


def model(part: Part) -> None:
    """Spin tries every run of a model of the proofs, and of it with each condition taken out."""
    part.judge("tools/check-model", part.run(
        "tools/check-model", [str(REPO / "tools/check-model")], show=ALL))


def fuzz(part: Part) -> None:
    """Each parser on bytes that libFuzzer makes, under ASan and UBSan."""
    names = [pathlib.Path(name).stem for name in our_files("tests/fuzz/fuzz_*.c")]
    if not build_fuzzers(part, "fuzzing", names, "--enable-sanitizers"):
        return
    for name in names:
        fuzz_one(part, name, "fuzzing", f"-max_total_time={FUZZ_S}")
    if MINUTES and build_fuzzers(part, "fuzzing-fast", list(FUZZ_RUNS)):
        for name, runs in FUZZ_RUNS.items():
            share = shares(runs * MINUTES // 360)[0]
            fuzz_one(part, name, "fuzzing-fast", f"-runs={share}")
    program = "tests/torture/stat_differ"
    # LeakSanitizer cannot do without /proc, which this program takes away.
    if build(part, "", *GCC) and part.judge(
            "make stat_differ", part.run("make", ["make", program], cwd=BUILD)):
        part.judge("stat_differ", part.run(
            "stat_differ", [f"./{program}", str(STAT_LINES)], cwd=BUILD))


def build_fuzzers(part: Part, folder: str, names: list[str], *configure: str) -> bool:
    if not build(part, folder, "CC=clang", "--enable-fuzzing", "--without-jars", *configure):
        return False
    return part.judge("make the fuzzers", part.run(
        "make", ["make", f"-j{os.cpu_count()}", *(f"tests/fuzz/{name}" for name in names)],
        cwd=BUILD / folder))


def fuzz_one(part: Part, name: str, build_folder: str, until: str) -> None:
    """What it finds is left in build/check/BUILD/NAME: a file for the corpus, once it is mended."""
    folder = LOGS / build_folder / name
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "found").mkdir(parents=True)
    lanes = str(os.cpu_count() or 1)
    # Files that a parser reads lie in memory where they can: on a disk they are most of its time.
    with tempfile.TemporaryDirectory(prefix="reaper-fuzz-", dir=IN_MEMORY) as files:
        done = part.run(name, [
            str(BUILD / build_folder / "tests/fuzz" / name), until, f"-jobs={lanes}",
            f"-workers={lanes}", "-print_final_stats=1", "-close_fd_mask=1", "-timeout=10",
            "-rss_limit_mb=2048", "-max_len=4096", "found",
            str(REPO / "tests/fuzz/corpus" / name.removeprefix("fuzz_"))], cwd=folder,
            env={"TMPDIR": files})
    count = sum(int(n) for log in folder.glob("fuzz-*.log") for n in re.findall(
        r"number_of_executed_units: +(\d+)", log.read_text(errors="replace")))
    wrong = [path.name for path in folder.glob("*-*") if not path.name.endswith(".log")
             and not path.is_dir()]
    if done.ok and count and not wrong:
        part.passed(f"{name}: {count:,} executions")
    else:
        part.failed(name, f"{done.why()}; {count} executions, found: {' '.join(wrong)} "
                    f"(in {folder.relative_to(REPO)})")
    part.count([check_figures.Figure(f"{name}, a parser on random bytes", count, "executions",
                                     len(wrong))])


def install(part: Part) -> None:
    if not build(part, *INSTALL):
        return
    root = BUILD / "install" / "root"
    shutil.rmtree(root, ignore_errors=True)
    make = ["make", "-C", str(BUILD / "install"), f"DESTDIR={root}"]

    def files() -> set[str]:
        return {str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir()}

    if not part.judge("make install", part.run("make install", [*make, "install"])):
        return
    expected = {
        "usr/sbin/reaper", "etc/reaper/reaper.conf", "etc/logrotate.d/reaper",
        "usr/lib/tmpfiles.d/reaper.conf", "usr/share/man/man8/reaper.8",
        "usr/share/man/man5/reaper.conf.5", "usr/share/man/man5/reaper-markers.5",
        "usr/share/reaper/reaper.schema.json", "usr/share/reaper/python/reaper_markers.py",
        "usr/share/reaper/python/reaper_pyspark.py", "usr/share/reaper/python/reaper_pyjava.py",
        *(f"usr/share/reaper/java/reaper-{name}.jar" for name in ("markers", "spark", "pyjava")),
    }
    missing = expected - files()
    units = {pathlib.Path(name).name for name in files() if "systemd/system/" in name}
    missing |= {"reaper.service", "reaper.socket", "reaper-sweep.service", "reaper-sweep.socket",
                "reaper-sweep.timer"} - units
    if missing:
        part.failed("everything is in its place", f"missing: {' '.join(sorted(missing))}")
    else:
        part.passed("everything is in its place")
    config = root / "etc/reaper/reaper.conf"
    ours = "# the administrator's own\n"
    config.write_text(ours)
    part.run("make install again", [*make, "install"])
    if config.read_text() == ours:
        part.passed("a configuration that is there is left alone")
    else:
        part.failed("a configuration that is there is left alone", "it was overwritten")
    config.write_bytes((REPO / "etc/reaper.conf").read_bytes())
    part.run("make uninstall", [*make, "uninstall"])
    folders = [str(path) for path in root.rglob("reaper*")]
    if files() or folders:
        part.failed("make uninstall leaves nothing", " ".join([*sorted(files()), *folders]))
    else:
        part.passed("make uninstall leaves nothing")


PARTS: dict[str, Callable[[Part], None]] = {
    "lint": lint, "unit": unit, "coverage": coverage, "mutate": mutate, "sanitize": sanitize,
    "system": system, "spark": spark, "pyjava": pyjava, "jvm": jvm, "python": python,
    "distcheck": distcheck, "quickstart": quickstart,
    "install": install, "bench": bench, "faults": faults, "reuse": reuse,
    "histories": histories, "model": model, "fuzz": fuzz, "chaos": chaos, "load": load,
    "longlive": longlive,
}


# A part in no lane would pass by not being run.
assert sorted(PARTS) == sorted([*(name for lane in LANES for name in lane), *AT_THE_END, *ALONE])


def run_part(name: str, tally: Tally, began: float) -> None:
    part = Part(name, tally, LIMITS[name] + LONGER_S, name in COMPUTE)
    try:
        PARTS[name](part)
    except Stopped:
        part.failed(name, "interrupted")
    except Exception as error:  # whatever went wrong, the sum must be told
        part.failed(name, f"{type(error).__name__}: {error}", traceback.format_exc())
    part.say(f"done ({time.monotonic() - began:.0f} s in all)")


def run_lanes(names: list[str], tally: Tally) -> None:
    """What is named, in its lanes; then what wants to be alone."""
    began = time.monotonic()
    last = collections.deque(name for name in AT_THE_END if name in names)

    def run(lane: collections.deque[str]) -> None:
        while not STOP.is_set():
            try:
                name = (lane or last).popleft()
            except IndexError:
                return
            run_part(name, tally, began)

    lanes = [collections.deque(name for name in lane if name in names) for lane in LANES]
    threads = [threading.Thread(target=run, args=(lane,)) for lane in lanes]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
        run(collections.deque(name for name in names if name in ALONE))
    except KeyboardInterrupt:
        STOP.set()
        tally.failed.append("interrupted: not all parts were run")
        for thread in threads:
            thread.join()


def what_this_is() -> str:
    """The commit, before anybody changes a file."""
    commit = subprocess.run(["git", "-c", "safe.directory=*", "describe", "--always", "--dirty"],
                            cwd=REPO, capture_output=True, text=True, check=False).stdout.strip()
    return f"`{commit}`" if commit else "a release"


def tell_figures(tally: Tally, commit: str, took_s: float) -> None:
    """The table of what was tried, at the end and in a file."""
    if not tally.figures:
        return
    name = os.environ.get("REAPER_FIGURES", "check")
    path = LOGS / ("figures.md" if name == "check" else f"figures-{name}.md")
    table = check_figures.markdown(
        tally.figures, f"`tools/{name}`, on {os.cpu_count()} processors:",
        f"{commit}, {time.strftime('%Y-%m-%d')}, {took_s / 60:.0f} minutes")
    path.write_text(check_figures.merged(path.read_text() if path.exists() else "", table))
    print(check_figures.text(tally.figures), end="\n\n", flush=True)


def main() -> int:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    tally = Tally()
    LOGS.mkdir(parents=True, exist_ok=True)
    names = []
    for word in sys.argv[1:]:
        name, _, reason = word.partition("=")
        if reason:
            tally.skipped.append(f"{name}: {reason}")
        else:
            names.append(name)
    began, commit = time.monotonic(), what_this_is()
    run_lanes(names, tally)
    print(flush=True)
    tell_figures(tally, commit, time.monotonic() - began)
    for line in tally.skipped:
        print(f"skipped: {line}")
    for trace in tally.traces:
        print(f"\n{trace}\n")
    for line in tally.failed:
        print(f"failed: {line}")
    print(f"{tally.passed} passed, {len(tally.failed)} failed, {len(tally.skipped)} skipped")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
