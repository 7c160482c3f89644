// SPDX-License-Identifier: Apache-2.0
package reaper.pyjava;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import streaming.dsl.ScriptSQLExec$;
import tech.mlsql.job.JobManager;
import tech.mlsql.job.JobManager$;

/**
 * Against a stand-in for the engine's JobManager, which calls its listeners as the engine's does.
 */
class ByzerAdapterTest {
    @BeforeAll
    static void register() {
        assertTrue(ByzerAdapter.register());
        assertTrue(ByzerAdapter.register());
        assertEquals(1, JobManager$.MODULE$.listeners.size(), "once");
    }

    private static List<String> said(String job) throws IOException {
        return ObserverTest.said(" job=" + job);
    }

    @Test
    void bracketsAJob() throws IOException {
        JobManager.run("one", () -> { });
        assertEquals(List.of("begin job=one", "end job=one outcome=ok"), said("one"));
    }

    @Test
    void bracketsAJobThatFails() throws IOException {
        assertThrows(IllegalStateException.class, () -> JobManager.run("two", () -> {
            throw new IllegalStateException("as ordered");
        }));
        assertEquals(List.of("begin job=two", "end job=two outcome=ok"), said("two"));
    }

    @Test
    void aJobThatStartedAStreamIsNotOver() throws IOException {
        JobManager.run("three", () -> ScriptSQLExec$.MODULE$.env().put("stream", "yes"));
        ScriptSQLExec$.MODULE$.env().remove("stream");
        assertEquals(List.of("begin job=three"), said("three"));
    }

    @Test
    void noStandInIsInTheJar() throws Exception {
        Path classes = Paths.get(
            ByzerAdapter.class.getProtectionDomain().getCodeSource().getLocation().toURI());

        assertTrue(Files.exists(classes.resolve("reaper/pyjava")));
        try (Stream<Path> files = Files.list(classes)) {
            assertEquals(List.of("reaper"), files.map(f -> f.getFileName().toString())
                .filter(f -> !f.equals("META-INF")).collect(Collectors.toList()));
        }
    }
}
