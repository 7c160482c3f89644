// SPDX-License-Identifier: Apache-2.0
package reaper.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.SparkConf;
import org.apache.spark.TaskContext;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** On stand-ins of a Spark whose pool cannot be read; tests/spark has the real ones. */
@Timeout(60)
class TaskMarkersTest {
    private final TaskMarkers markers = new TaskMarkers();

    private static List<String> log() throws IOException {
        Path folder = Paths.get(System.getenv("REAPER_MARKER_DIR"));

        try (Stream<Path> files = Files.walk(folder)) {
            Path log = files.filter(f -> f.getFileName().toString().matches("host-"
                + ProcessHandle.current().pid() + "-[0-9]+-pyspark-1.log")).findFirst().get();
            return Files.readAllLines(log).stream().map(l -> l.split(" ", 3)[2])
                .collect(Collectors.toList());
        }
    }

    private void task(long id) {
        TaskContext.set(new TaskContext(id));
        markers.onTaskStart();
        TaskContext.set(null);
        markers.onTaskSucceeded();
    }

    /** It promises what it can; then a few tasks, and the first beat. */
    private void run() throws Exception {
        markers.init(SparkConf::new, Map.of());
        assertTrue(log().get(0).contains(" pool=unknown tasks=all "), log().get(0));
        task(17);
        task(18);
        while (log().stream().noneMatch(l -> l.startsWith("beat ")))
            Thread.sleep(50);
        task(19);
        markers.shutdown();
    }

    @Test
    void tellsOfTasksWhereThePoolCannotBeRead() throws Exception {
        PrintStream stderr = System.err;
        ByteArrayOutputStream said = new ByteArrayOutputStream();

        System.setErr(new PrintStream(said, true));
        try {
            run();
        } finally {
            System.setErr(stderr);
        }
        List<String> ours = said.toString().lines().filter(l -> l.startsWith("reaper-"))
            .collect(Collectors.toList());
        assertEquals(1, ours.size(), ours.toString());
        assertTrue(ours.get(0).contains("only tasks are reported"), ours.get(0));
        assertTrue(ours.get(0).contains("PythonWorkerFactory.idleWorkers"), ours.get(0));
        List<String> lines = log();
        lines.removeIf(l -> l.startsWith("beat "));
        assertEquals(List.of("begin task=17", "end task=17 outcome=ok", "begin task=18",
            "end task=18 outcome=ok", "begin task=19", "end task=19 outcome=ok"),
            lines.subList(1, lines.size()));
    }
}
