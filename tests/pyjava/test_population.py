# SPDX-License-Identifier: Apache-2.0
"""Every state that a worker of real pyjava can be in, judged and swept with the fastest settings.

As in tests/spark: each test brings one worker into its state, looks at it with `audit`, lets `sweep`
loose on that JVM, compares the processes before and after, and sees that the next task works. Nothing
writes markers here.
"""

import checks
from checks import RECVFROM, reaped, settle


def quiet_and_working(host, before):
    """The JVM has logged nothing since, and its next task works."""
    assert host.said() == before
    host.healthy()
    assert host.said() == before


class TestSignedOff:
    def test_issue_1652(self, host, reaper):
        job = host.begin("issue_1652")
        assert "UnsupportedOperationException" in host.failure(job)
        worker = host.noted(job)
        checks.wait_blocked(worker, RECVFROM)
        settle()
        said = host.said()
        reaped(host, reaper, worker, reason="signed-off", fence="signed-off",
               socket="signed-off", blocked_in="recv", wait_forever=True, recv_queue=0,
               send_queue=0, **{"class": "pyjava"})
        quiet_and_working(host, said)
