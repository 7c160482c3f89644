// SPDX-License-Identifier: Apache-2.0
package reaper.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Set;
import org.junit.jupiter.api.Test;

class UsageTest {
    private static final Set<Long> NONE = Set.of();

    private final Usage usage = new Usage();

    @Test
    void whatATaskHasIsLeased() {
        assertTrue(usage.mayBeUsed(Set.of(1L), Set.of(1L, 2L)));
        assertEquals(1L, usage.task());
    }

    @Test
    void whatNobodyHasAnyMoreIsNot() {
        usage.mayBeUsed(Set.of(1L), Set.of(1L));
        assertFalse(usage.mayBeUsed(Set.of(1L), NONE), "its pair stays for a while");
        assertFalse(usage.mayBeUsed(NONE, NONE));
        assertNull(usage.task());
    }

    @Test
    void whatNeverHadAPairIsLeased() {
        assertTrue(usage.mayBeUsed(NONE, NONE), "reuse=false, a planner's, or just taken");
        assertTrue(usage.mayBeUsed(NONE, NONE));
    }

    @Test
    void whatWasIdleSinceIsJudgedAnew() {
        usage.mayBeUsed(Set.of(1L), Set.of(1L));
        usage.isIdle();
        assertTrue(usage.mayBeUsed(NONE, NONE));
    }

    @Test
    void whoeverRanThenMayUseIt() {
        usage.mayBeUsed(Set.of(1L), Set.of(1L, 2L));
        assertTrue(usage.mayBeUsed(Set.of(1L), Set.of(2L)), "2 may have taken it from 1");
        assertTrue(usage.mayBeUsed(NONE, Set.of(2L, 3L)));
        assertFalse(usage.mayBeUsed(NONE, Set.of(3L)), "3 began later, and would have a pair");
    }

    @Test
    void whoTakesItLaterHasAPair() {
        usage.mayBeUsed(Set.of(1L), Set.of(1L));
        assertFalse(usage.mayBeUsed(NONE, Set.of()));
        assertTrue(usage.mayBeUsed(Set.of(3L), Set.of(3L)));
        assertTrue(usage.mayBeUsed(NONE, Set.of(3L, 4L)), "without its pair it is suspected again");
        assertTrue(usage.mayBeUsed(NONE, Set.of(4L)));
        assertFalse(usage.mayBeUsed(NONE, NONE));
    }
}
