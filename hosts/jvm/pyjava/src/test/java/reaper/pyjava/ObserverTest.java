// SPDX-License-Identifier: Apache-2.0
package reaper.pyjava;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class ObserverTest {
    /** What the one log of this JVM says of something. */
    static List<String> said(String what) throws IOException {
        Path folder = Paths.get(System.getenv("REAPER_MARKER_DIR"));

        try (Stream<Path> files = Files.walk(folder)) {
            Path log = files.filter(f -> f.getFileName().toString().matches("host-"
                + ProcessHandle.current().pid() + "-[0-9]+-pyjava-1.log")).findFirst().get();
            return Files.readAllLines(log).stream().filter(l -> l.contains(what))
                .map(l -> l.split(" ", 3)[2]).collect(Collectors.toList());
        }
    }

    @Test
    void bracketsATask() throws IOException {
        Observer.start();
        Observer.start();
        Observer.begin("alpha", "j");
        Observer.end("alpha");
        Observer.end("alpha");
        assertEquals(List.of("begin task=alpha job=j", "end task=alpha outcome=ok"),
            said("task=alpha"));
    }

    @Test
    void endsAJobOnce() throws IOException {
        Observer.begin("beta", "k");
        Observer.endJob("k");
        Observer.end("beta");
        assertEquals(List.of("begin task=beta job=k", "end job=k outcome=ok"), said("=k"));
        assertEquals(List.of("begin task=beta job=k"), said("task=beta"), "its job's end is its");
    }

    @Test
    void isNoTaskOfSparks() throws IOException {
        Observer.begin("17", null);
        Observer.end("17");
        assertEquals(List.of("begin task=pyjava-17", "end task=pyjava-17 outcome=ok"),
            said("-17"));
    }
}
