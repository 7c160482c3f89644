# SPDX-License-Identifier: Apache-2.0
"""Figures of a run: how much was tried, and how much of it was wrong.

What is run prints lines `figure WHAT: COUNT UNIT, COUNT wrong`; beside them only mutants, fuzzers' runs and
the tests that say that they are attacks are counted. The table of a
run is printed at its end and kept in build/check/figures.md, where each row says at which commit, when, and
how long that run took: a run of some parts leaves the rows of the others as they are. `tools/check-figures`
puts it into docs/SAFETY.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

LINE = re.compile(r"^\s*figure (?P<what>[^:\n]+): (?P<count>\d+) (?P<unit>[^,\n]+), (?P<wrong>\d+) wrong$", re.M)

# What is tried there: promises of docs/SAFETY.md, by how the name of a figure begins.
PROMISES = {
    "mechanisms of the promises": "N1 to N18",
    "mutants": "N2, N3, N5 to N8, N11",
    "the model": "N2",
    "random histories": "N2, N3, N5, N7, N8, N14",
    "numbers given away": "N1",
    "leaks among healthy workers": "N2, N3",
    "system calls of a sweep": "N8, N10",
    "system calls of a watch": "N8, N10",
    "system calls of doctor": "N8",
    "system calls of retire": "N7",
    "records of retire": "N7",
    "signals of a": "N4, N10",
    "kills of reaper itself": "N11, N13",
    "failing allocations": "N8, N10",
    "short reads and writes": "N8, N10",
    "failing calls of a thread": "N8, N17",
    "stat lines": "N1, N8",
    "attacks by marker logs": "N7, N15 to N17",
    "attacks by processes": "N5, N7, N8, N17",
    "fuzz_argv": "N8, N16, N17",
    "fuzz_cli": "N12",
    "fuzz_config": "N12",
    "fuzz_history_file": "N13",
    "fuzz_marker": "N7, N15, N17",
    "fuzz_memory_file": "N13",
    "fuzz_": "N8, N17",
}
# What a run tries more of the longer it takes.
GROWING = ("random histories", "numbers given away", "leaks among healthy workers", "fuzz_", "stat lines")
# A figure of one promise alone: how many of its mechanisms were taken out (tools/mutate-promises).
OF_ONE = re.compile(r"(N\d+), ")
ROW_OF_ONE = re.compile(r"^\| (?P<promise>N\d+), [^|]*\| (?P<tried>[^|]*) \| (?P<wrong>\d+) \|[^|]*\| (?P<commit>[^|,]*),")


class Figure(NamedTuple):
    what: str
    count: int
    unit: str
    wrong: int


def found_in(output: str) -> list[Figure]:
    """The figures that an output tells."""
    return [Figure(line["what"], int(line["count"]), line["unit"], int(line["wrong"]))
            for line in LINE.finditer(output)]


def summed(figures: list[Figure]) -> list[Figure]:
    """Those of one name and unit are one."""
    sums: dict[tuple[str, str], Figure] = {}
    for figure in figures:
        key = figure.what, figure.unit
        before = sums.get(key, Figure(figure.what, 0, figure.unit, 0))
        sums[key] = before._replace(count=before.count + figure.count,
                                    wrong=before.wrong + figure.wrong)
    return list(sums.values())


def promises_of(figure: Figure) -> str:
    """Those that a figure is of."""
    one = OF_ONE.match(figure.what)
    if one:
        return one[1]
    return next((told for name, told in PROMISES.items() if figure.what.startswith(name)), "")


def text(figures: list[Figure]) -> str:
    """A table for a terminal."""
    rows = [(figure.what, f"{figure.count:,} {figure.unit}", f"{figure.wrong} wrong")
            for figure in summed(figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return "\n".join(f"{what:{widths[0]}}  {tried:>{widths[1]}}  {wrong:>{widths[2]}}"
                     for what, tried, wrong in rows)


def markdown(figures: list[Figure], caption: str, run: str) -> str:
    """The same for a document; each row says of which run it is."""
    head = ["what", "tried", "wrong", "of", "run"]
    rows = [[figure.what, f"{figure.count:,} {figure.unit}", str(figure.wrong), promises_of(figure), run]
            for figure in summed(figures)]
    lines = [f"| {' | '.join(row)} |" for row in (head, *rows)]
    return "\n".join([caption, "", lines[0], "|---|---:|---:|---|---|", *lines[1:], ""])


def is_title(line: str) -> bool:
    return line.startswith("| what |")


def rows_of(table: str) -> dict[str, str]:
    """Its rows, by what they are of."""
    lines = table.splitlines()
    titles = next((line for line in lines if is_title(line)), "")
    rows = [line for line in lines if line.startswith("| ") and not is_title(line)]
    return {line.split(" | ")[0]: line for line in rows if line.count("|") == titles.count("|")}


def with_rows(table: str, rows: Iterable[str]) -> str:
    """The same caption and titles over other rows."""
    caption, *rest = table.splitlines()
    titles = [line for line in rest if is_title(line) or line.startswith("|---")]
    return "\n".join([caption, "", *titles, *rows, ""])


def merged(before: str, table: str) -> str:
    """A table over the one before: rows of other names stay, since a run may be of some parts only."""
    return with_rows(table, {**rows_of(before), **rows_of(table)}.values())


def tried(row: str) -> int:
    return int(row.split(" | ")[1].split()[0].replace(",", ""))


def was_wrong(row: str) -> bool:
    return row.split(" | ")[2] != "0"


def most(before: str, table: str) -> str:
    """Of what grows with time, the rows of those runs that tried most; one in which something was wrong
    stands until as much was tried without."""
    rows = rows_of(before)
    for name, row in rows_of(table).items():
        grows = name.removeprefix("| ").startswith(GROWING)
        if grows and (name not in rows or was_wrong(row) or tried(row) >= tried(rows[name])):
            rows[name] = row
    return with_rows(table, rows.values())


def apart(table: str) -> tuple[str, dict[str, str]]:
    """A table without the figures of single promises, and those: what to write behind each promise."""
    rest, cells = [], {}
    for line in table.splitlines(keepends=True):
        row = ROW_OF_ONE.match(line)
        if row:
            cells[row["promise"]] = f"{row['tried']}, {row['wrong']} wrong, {row['commit']}"
        else:
            rest.append(line)
    return "".join(rest), cells


def filled(text: str, cells: dict[str, str]) -> str:
    """A document whose row of each promise ends with its figure."""
    for promise, cell in cells.items():
        text, count = re.subn(rf"^(\| {promise} \|.*\|) [^|\n]*\|$", rf"\1 {cell} |", text, flags=re.M)
        if count != 1:
            raise ValueError(f"{count} rows are of {promise}")
    return text
