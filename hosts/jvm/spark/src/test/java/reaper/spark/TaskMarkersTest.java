// SPDX-License-Identifier: Apache-2.0
package reaper.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.spark.SparkConf;
import org.apache.spark.TaskContext;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** On stand-ins of a Spark whose pool cannot be read; tests/spark has the real ones. */
@Timeout(60)
class TaskMarkersTest {
    private final TaskMarkers markers = new TaskMarkers();

    private void task(long id) {
        TaskContext.set(new TaskContext(id));
        markers.onTaskStart();
        TaskContext.set(null);
        markers.onTaskSucceeded();
    }

    /** It promises what it can; then a few tasks, and the first beat. */
    private void run() throws Exception {
        OtherRelease.without("idleWorkers", () -> markers.init(SparkConf::new, Map.of()));
        String host = OwnLog.lines().get(0);
        assertTrue(host.contains(" pool=unknown tasks=all "), host);
        task(17);
        task(18);
        while (OwnLog.lines().stream().noneMatch(l -> l.startsWith("beat ")))
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
        List<String> lines = OwnLog.lines();
        lines.removeIf(l -> l.startsWith("beat "));
        assertEquals(List.of("begin task=17", "end task=17 outcome=ok", "begin task=18",
            "end task=18 outcome=ok", "begin task=19", "end task=19 outcome=ok"),
            lines.subList(1, lines.size()));
    }
}
