// SPDX-License-Identifier: Apache-2.0
package reaper.markers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class RecordTest {
    private static String text(Record r) {
        String line = new String(r.line(), StandardCharsets.US_ASCII);

        assertTrue(line.matches("(?s)reaper/1 [0-9]{13} .*\n"), line);
        return line.substring(23, line.length() - 1);
    }

    @Test
    void hasItsMembersInOrder() {
        assertEquals("begin task=17 job=3",
            text(new Record("begin").name("task", "17").name("job", "3")));
    }

    @Test
    void leavesOutWhatIsUnknown() {
        assertEquals("begin task=17",
            text(new Record("begin").name("task", "17").name("job", null)));
    }

    @Test
    void encodesAllButWhatIsPlain() {
        assertEquals("end task=az.AZ_09:/@+-",
            text(new Record("end").name("task", "az.AZ_09:/@+-")));
        assertEquals("end task=a%20b%3D%25%0A%C3%A9",
            text(new Record("end").name("task", "a b=%\n\u00e9")));
    }

    @Test
    void findsANameForWhatTheReaderWouldNotTake() {
        Set<String> names = new HashSet<>();

        for (String odd : List.of("", "x".repeat(65), "x".repeat(66), "\u00e9".repeat(33),
            "a\0b")) {
            String text = text(new Record("end").name("task", odd));
            assertTrue(text.matches("end task=sha256:[0-9A-F]{32}"), text);
            assertEquals(text, text(new Record("end").name("task", odd)));
            names.add(text);
        }
        assertEquals(5, names.size());
    }

    @Test
    void isNoneIfItIsTooLong() {
        int most = Record.MAX - "reaper/1 1234567890123 end x=\n".length();

        assertEquals(Record.MAX, new Record("end").with("x", "y".repeat(most)).line().length);
        assertNull(new Record("end").with("x", "y".repeat(most + 1)).line());
    }

    @Test
    void fitsWithTheLongestNames() {
        String longest = "\u00e9".repeat(32), worker = "4194304:18446744073709551615";

        assertNotNull(new Record("begin").name("task", longest).name("job", longest)
            .with("worker", worker).line());
        assertNotNull(new Record("leased").with("worker", worker).name("task", longest).line());
        assertNotNull(new Record("end").name("task", longest).name("outcome", longest).line());
    }

    @Test
    void takesTheLongestName() {
        assertEquals("end task=" + "x".repeat(64),
            text(new Record("end").name("task", "x".repeat(64))));
        assertEquals("end task=" + "%C3%A9".repeat(32),
            text(new Record("end").name("task", "\u00e9".repeat(32))));
    }

    @Test
    void cutsAtACharacter() {
        assertEquals("x".repeat(64), Record.cut("x".repeat(70)));
        assertEquals("\u00e9".repeat(32), Record.cut("\u00e9".repeat(40)));
        assertEquals("\ud83d\ude00".repeat(16), Record.cut("\ud83d\ude00".repeat(20)));
        assertNull(Record.cut(""));
        assertNull(Record.cut(null));
    }
}
