// SPDX-License-Identifier: Apache-2.0
package reaper.spark;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The marker log of this JVM's Spark, and the thread that beats in it. */
final class OwnLog {
    private static final Pattern NAME = Pattern.compile(
        "host-" + ProcessHandle.current().pid() + "-[0-9]+-pyspark-([0-9]+).log");

    private OwnLog() {
    }

    private static int number(Path file) {
        Matcher name = NAME.matcher(file.getFileName().toString());

        return name.matches() ? Integer.parseInt(name.group(1)) : 0;
    }

    /** The newest of its files. */
    static Path path() throws IOException {
        try (Stream<Path> files = Files.walk(Paths.get(System.getenv("REAPER_MARKER_DIR")))) {
            return files.filter(f -> number(f) > 0).max(Comparator.comparing(OwnLog::number)).get();
        }
    }

    /** The records of a file, without version and time; a part of a line is none yet. */
    static List<String> lines(String text) {
        return text.substring(0, text.lastIndexOf('\n') + 1).lines().map(l -> l.split(" ", 3)[2])
            .collect(Collectors.toList());
    }

    static List<String> lines() throws IOException {
        return lines(Files.readString(path()));
    }

    static long beats() throws IOException {
        return lines().stream().filter(l -> l.startsWith("beat ")).count();
    }

    static List<Thread> threads() {
        return Thread.getAllStackTraces().keySet().stream()
            .filter(t -> t.getName().equals("reaper-markers-pyspark")).collect(Collectors.toList());
    }

    /** A file that is replaced between two looks is looked at again. */
    private static boolean holds(Callable<Boolean> condition) throws Exception {
        try {
            return condition.call();
        } catch (NoSuchFileException e) {
            return false;
        }
    }

    /** Waits for something, and lets the log not wait for its next beat. */
    static void await(Callable<Boolean> condition) throws Exception {
        while (!holds(condition)) {
            threads().forEach(LockSupport::unpark);
            Thread.sleep(10);
        }
    }
}
