# SPDX-License-Identifier: Apache-2.0
"""The tasks that bring a worker of real pyjava into each state that the tests look at.

Each is what `begin` of driver/Driver.java takes: rows that go in, Python code, and what the host
does with what comes out. The code leaves the worker's identity first.
"""

MEGABYTE = 1_000_000
FETCH = "rows = [row['value'] for row in context.fetch_once_as_rows()]\n"

# byzer-lang issue 1652, its code word by word: a host that wants strings cannot decode it, and no
# finally closes the task.
ISSUE_1652 = """
from pyjava.api.mlsql import RayContext, PythonContext
context.build_result([{"top": {"a": "string"}}])
"""

# Held by the module, as by a library's cache: it stays with the worker.
HOLD = "inworker.held = bytearray(b'x') * (%d << 20)\n"

TASKS = {
    "healthy": {"code": FETCH + "context.build_result([{'value': row + 'y'} for row in rows])",
                "rows": 3},
    # read no input, as the issue's own code, and it is the host that will not end
    "issue_1652": {"code": ISSUE_1652, "take": 1, "then": "forget"},
    "issue_1652_50_mb": {"code": HOLD % 50 + ISSUE_1652, "take": 1, "then": "forget"},
    "raises": {"code": "raise ValueError('no such column')", "take": 1, "then": "forget"},
    "input_read": {"code": FETCH + "context.build_result([{'value': 'a'}])", "take": 1,
                   "then": "forget"},
    "big_result": {"code": FETCH + "context.build_result([{'value': 'x' * 1000}] * 20_000)",
                   "take": 1, "then": "forget"},
    # the host closes when the gate is open
    "closed": {"code": "import time; time.sleep(900)", "held": True, "then": "close"},
    "closed_unread": {"code": "inworker.block()", "rows": 100, "size": 1000, "held": True,
                      "then": "close"},
    "closed_stuck": {"code": "inworker.block()", "rows": 20_000, "size": 1000, "held": True,
                     "then": "close"},
    # in use
    "serving": {"code": FETCH + "inworker.long_sleep()\n"
                "context.build_result([{'value': 'woken'}])"},
    "slow_host": {"code": "context.build_result([{'value': 'x' * 1000}] * 5_000)", "take": 1,
                  "held": True},
}


def task(kind, folder, notes, label):
    """The task, with code that begins by noting who runs it."""
    chosen = TASKS[kind]
    first = f"import sys; sys.path.insert(0, {folder!r})\nimport inworker\n"
    return {**chosen, "code": f"{first}inworker.note({notes!r}, {label!r})\n{chosen['code']}"}
