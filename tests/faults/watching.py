# SPDX-License-Identifier: Apache-2.0
"""A watch in which something is made to fail: three looks, a reload, a look, the end."""

from __future__ import annotations

import contextlib
import pathlib
import socket
import threading
from collections.abc import Callable, Iterator

from faulty import Crowd, Scene
from harness.binary import Reaper
from harness.markers import BOOT_ID, host_record, record
from harness.minihost import MiniHost
from harness.program import Program

QUIET_JVM = ("env", "JDK_JAVA_OPTIONS=-XX:-UsePerfData")
# So the kernel says that there is no signal to read: nothing could stop it.
DEAF = frozenset({("read", "EAGAIN")})
ALONE = "[class alone]\nkind = single\nargs = alone.py\n"
GONE_S = 2 * 3600  # longer than marker_keep


class Listener:
    """The service manager, which listens to all of it."""

    def __init__(self, path: pathlib.Path, at_look: Callable[[], None] = lambda: None) -> None:
        """`at_look` is called when a look has been taken, which the watch tells."""
        self.path = path
        self.at_look = at_look
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(path))
        self.thread = threading.Thread(target=self.listen)
        self.thread.start()

    def listen(self) -> None:
        while message := self.socket.recv(65536):
            if message.startswith(b"STATUS="):
                self.at_look()

    def finish(self) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as last:
            last.sendto(b"", str(self.path))
        self.thread.join()
        self.socket.close()


def watch_of(host: MiniHost, crowd: Crowd, notify: pathlib.Path) -> Scene:
    """With logs of this host and of one that is gone, and a history."""
    now = [record(host_record(host, "pool=unknown tasks=some"), 3),
           *(record(f"begin task={n} worker={worker.identity}", 2) for n, worker in enumerate(crowd.kept)),
           record("beat n=3", 2)]
    gone = record(f"host host=4194304:1 boot={BOOT_ID} pidns=1 class=pyspark pool=none tasks=some", GONE_S)

    def prepare(reaper: Reaper) -> None:
        reaper.write_config(ALONE)
        if reaper.audit_log.parent.exists():
            reaper.audit_log.parent.rmdir()
        below = reaper.marker_dir / "below"
        below.mkdir(mode=0o755, exist_ok=True)
        (reaper.marker_dir / "now.log").write_text("".join(now))
        (below / "gone.log").write_text(gone)
        for path in (reaper.marker_dir / "now.log", below / "gone.log"):
            path.chmod(0o644)
        history = reaper.state_dir / "history"
        history.write_text(f"reaper-history/1 boot={BOOT_ID}\nkill 1\n")
        history.chmod(0o640)

    return Scene("watch", ("--json", "watch"),
                 {"reaper.interval": "1s", "reaper.marker_keep": "1h",
                  "reaper.metrics_file": str(notify.parent / "home" / "reaper.prom")},
                 ("-E", "HUP_AT=3", "-E", "TERM_AT=4", "-E", f"NOTIFY_SOCKET={notify}"),
                 prepare, frozenset({0, 2, 3, 4}),
                 only_once=DEAF)


@contextlib.contextmanager
def watched(host: MiniHost, folder: pathlib.Path) -> Iterator[Crowd]:
    """With a helper, two workers that have signed off, one of them with rows that the host has yet to read, and
    a program that stands alone."""
    found = Crowd.of(host, "helper then poll")
    signed_off = host.daemons[0].open()
    signed_off.task("signoff")
    found.due.add(signed_off.pid)
    unread = host.daemons[0].open()
    unread.task("signoff 100000")
    found.guarded.append(unread)
    alone = Program(folder / "alone.py", "import time\nprint('ready', flush=True)\ntime.sleep(1e6)\n")
    found.hosts += (alone,)
    try:
        yield found
        assert found.is_as_it_was() and signed_off.is_alive(), "a signal arrived"
        assert not alone.pinned.has_ended(), "a signal arrived"
    finally:
        alone.finish()
