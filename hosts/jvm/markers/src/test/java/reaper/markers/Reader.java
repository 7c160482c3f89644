// SPDX-License-Identifier: Apache-2.0
package reaper.markers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Reads a log as reaper does, and checks the number of each beat. */
final class Reader {
    /** One record. */
    static final class Line {
        final String event;
        final Map<String, String> members = new HashMap<>();
        final String text;

        Line(String text) {
            String[] words = text.split(" ");

            this.text = text;
            assertEquals("reaper/1", words[0], text);
            assertTrue(words[1].matches("[0-9]{13}"), text);
            assertTrue(text.length() < 512, text);
            event = words[2];
            for (int i = 3; i < words.length; i++) {
                int equals = words[i].indexOf('=');
                assertTrue(equals > 0, text);
                members.put(words[i].substring(0, equals), words[i].substring(equals + 1));
            }
        }

        String get(String key) {
            return members.get(key);
        }
    }

    private static final long WAIT_NS = TimeUnit.SECONDS.toNanos(30);

    private Reader() {
    }

    /**
     * What is in the file once it ends with a whole line. The kernel shows an append page by page
     * (generic_perform_write()), so who reads while it is written may see a part of a line.
     */
    private static String readWhole(Path log) throws IOException {
        String text = Files.readString(log, StandardCharsets.US_ASCII);

        for (int i = 0; i < 2000 && !text.isEmpty() && !text.endsWith("\n"); i++) {
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10));
            text = Files.readString(log, StandardCharsets.US_ASCII);
        }
        assertTrue(text.isEmpty() || text.endsWith("\n"), "ends with a whole line");
        return text;
    }

    static List<Line> read(Path log) throws IOException {
        String text = readWhole(log);
        List<Line> lines = new ArrayList<>();

        for (String line : text.split("\n"))
            if (!line.isEmpty()) // behind a record that was cut short, another newline begins
                lines.add(new Line(line));
        return lines;
    }

    static List<Line> read(Path log, String event) throws IOException {
        return read(log).stream().filter(l -> l.event.equals(event)).collect(Collectors.toList());
    }

    /** Says how many beats there are; each has to have the number of records before it. */
    static int beats(List<Line> lines) {
        int beats = 0;

        for (Boolean counts : whichCount(lines)) {
            assertTrue(counts, "beat " + ++beats);
        }
        return beats;
    }

    /** Of each beat, whether it has the number of records before it. */
    static List<Boolean> whichCount(List<Line> lines) {
        List<Boolean> counts = new ArrayList<>();
        long since = 0;

        for (Line l : lines)
            if (l.event.equals("beat")) {
                counts.add(since == Long.parseLong(l.get("n")));
                since = 0;
            } else {
                since++;
            }
        return counts;
    }

    static List<Path> files(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.sorted().collect(Collectors.toList());
        }
    }

    interface Condition {
        boolean holds() throws Exception;
    }

    /** A file that was removed when its successor was whole: the next look has another path. */
    private static boolean holds(Condition condition) throws Exception {
        try {
            return condition.holds();
        } catch (NoSuchFileException e) {
            return false;
        }
    }

    static void await(String what, Condition condition) throws Exception {
        long began = System.nanoTime();

        while (!holds(condition)) {
            assertTrue(System.nanoTime() - began < WAIT_NS, what);
            Thread.sleep(10);
        }
    }
}
