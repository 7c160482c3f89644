// SPDX-License-Identifier: Apache-2.0
package reaper.markers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class LogTest {
    private static final AtomicInteger NAMES = new AtomicInteger();
    private static final long NEVER = TimeUnit.HOURS.toMillis(1);

    @TempDir
    Path folder;

    private final String name = "test" + NAMES.incrementAndGet();

    private Log.Builder log() {
        return Log.of(name).folder(folder).beatEvery(NEVER);
    }

    private static List<String> events(List<Reader.Line> lines) {
        return lines.stream().map(l -> l.event).collect(Collectors.toList());
    }

    private static Process child() throws Exception {
        return new ProcessBuilder("sleep", "60").start();
    }

    @Test
    void beginsWithWhoWrites() throws Exception {
        try (Log log = log().neverReuses().bracketsAll().poolTimeout(60000).app("an app").open()) {
            Reader.Line host = Reader.read(log.path()).get(0);
            long self = ProcessHandle.current().pid();

            assertEquals("host", host.event);
            assertEquals(Log.worker(self), host.get("host"));
            assertTrue(host.get("host").startsWith(self + ":"));
            assertEquals(Files.readString(Path.of("/proc/sys/kernel/random/boot_id")).trim(),
                host.get("boot"));
            assertEquals("pid:[" + host.get("pidns") + "]",
                Files.readSymbolicLink(Path.of("/proc/self/ns/pid")).toString());
            assertEquals(name, host.get("class"));
            assertEquals("none", host.get("pool"));
            assertEquals("all", host.get("tasks"));
            assertEquals("60000", host.get("pool_timeout"));
            assertEquals("an%20app", host.get("app"));
            assertEquals("rw-r--r--", PosixFilePermissions.toString(
                Files.getPosixFilePermissions(log.path())));
        }
    }

    @Test
    void promisesNothingUnasked() throws Exception {
        try (Log log = log().open()) {
            Reader.Line host = Reader.read(log.path()).get(0);

            assertEquals("unknown", host.get("pool"));
            assertEquals("some", host.get("tasks"));
            assertNull(host.get("pool_timeout"));
        }
    }

    @Test
    void bracketsATask() throws Exception {
        try (Log log = log().open()) {
            try (Task task = log.begin("17", "j")) {
                task.bind("4711:99").outcome("failed");
                // It is in the file before the task goes on.
                assertEquals(List.of("host", "begin", "begin"), events(Reader.read(log.path())));
            }
            List<Reader.Line> lines = Reader.read(log.path());
            assertEquals("4711:99", lines.get(2).get("worker"));
            assertEquals("j", lines.get(2).get("job"));
            assertEquals("end", lines.get(3).event);
            assertEquals("17", lines.get(3).get("task"));
            assertNull(lines.get(3).get("job"), "task or job, not both");
            assertEquals("failed", lines.get(3).get("outcome"));
        }
    }

    @Test
    void bindsByProcessAndByPorts() throws Exception {
        Process child = child();

        try (Log log = log().open();
            ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
            Socket socket = new Socket(server.getInetAddress(), server.getLocalPort());
            Task task = log.begin("1", null)) {
            task.bind(child.pid()).bind(socket).bind(Integer.MAX_VALUE);
            List<Reader.Line> begins = Reader.read(log.path(), "begin");
            assertEquals(3, begins.size(), "nobody has that number");
            assertEquals(Log.worker(child.pid()), begins.get(1).get("worker"));
            assertEquals(String.valueOf(socket.getLocalPort()), begins.get(2).get("lport"));
            assertEquals(String.valueOf(server.getLocalPort()), begins.get(2).get("dport"));
        } finally {
            child.destroyForcibly();
        }
    }

    @Test
    void beatsWithTheNumberOfRecords() throws Exception {
        Snapshot all = new Snapshot().pooled("5:6").leased("7:8", "1");
        CountDownLatch begun = new CountDownLatch(1);

        // null: no list and no beat
        try (Log log = log().beatEvery(20).reports(() -> begun.getCount() == 0 ? all : null)
            .open()) {
            log.begin("1", null);
            begun.countDown();
            Reader.await("three beats", () -> Reader.beats(Reader.read(log.path())) >= 3);
            List<String> events = events(Reader.read(log.path()));
            assertEquals(List.of("host", "begin", "pooled", "leased", "beat", "pooled", "leased",
                "beat"), events.subList(0, 8));
        }
    }

    @Test
    void doesNotBeatWhenThePoolIsNotKnown() throws Exception {
        AtomicInteger asked = new AtomicInteger();

        try (Log log = log().beatEvery(10).reports(() -> {
            if (asked.incrementAndGet() % 2 == 0)
                throw new IllegalStateException("as ordered");
            return null;
        }).open()) {
            Reader.await("asked", () -> asked.get() > 4);
            assertEquals(List.of("host"), events(Reader.read(log.path())));
            assertTrue(log.failures() > 0);
        }
    }

    @Test
    void keepsCountWhileManyWrite() throws Exception {
        int threads = 8, tasks = 3000;
        CountDownLatch done = new CountDownLatch(threads);

        try (Log log = log().beatEvery(1).patience(NEVER).open()) {
            for (int i = 0; i < threads; i++) {
                int mine = i;
                new Thread(() -> {
                    for (int j = 0; j < tasks; j++)
                        log.begin(mine + "." + j, null).close();
                    done.countDown();
                }).start();
            }
            done.await();
            Path path = log.path();
            Reader.await("a last beat", () -> {
                List<Reader.Line> l = Reader.read(path);
                return l.get(l.size() - 1).event.equals("beat") && Reader.beats(l) > 3;
            });
            List<Reader.Line> lines = Reader.read(path);
            assertEquals(2 * threads * tasks, lines.stream()
                .filter(l -> l.event.equals("begin") || l.event.equals("end")).count());
            assertEquals(0, log.failures());
        }
    }

    /** Each of its records takes so long that somebody writes at any time. */
    private static final class Slow extends FilterOutputStream {
        private final AtomicInteger beats = new AtomicInteger();

        Slow(OutputStream file) {
            super(file);
        }

        @Override
        public void write(byte[] line) throws IOException {
            out.write(line);
            if (Stopping.has(line, " beat "))
                beats.incrementAndGet();
            else
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(5));
        }
    }

    @Test
    void beatsThoughWritersLeaveNoGap() throws Exception {
        AtomicReference<Slow> file = new AtomicReference<>();
        List<Thread> writers = new ArrayList<>();
        CountDownLatch stop = new CountDownLatch(1);

        try (Log log = log().beatEvery(1).patience(20_000).through(f -> {
            file.set(new Slow(f));
            return file.get();
        }).open()) {
            for (int i = 0; i < 4; i++) {
                int mine = i;
                writers.add(new Thread(() -> {
                    for (int j = 0; stop.getCount() > 0; j++)
                        log.begin(mine + "." + j, null).close();
                }));
                writers.get(i).start();
            }
            try {
                int before = file.get().beats.get();
                Reader.await("beats", () -> file.get().beats.get() > before + 2);
            } finally {
                stop.countDown();
                for (Thread writer : writers)
                    writer.join();
            }
            assertTrue(Reader.beats(Reader.read(log.path())) > 2);
        }
    }

    @Test
    void aTaskDoesNotWaitForAListOfThePool() throws Exception {
        CountDownLatch listing = new CountDownLatch(1), go = new CountDownLatch(1);

        try (Log log = log().beatEvery(1).reports(() -> {
            listing.countDown();
            try {
                go.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            return new Snapshot();
        }).open()) {
            listing.await();
            log.begin("1", null).close();
            assertEquals(List.of("host", "begin", "end"), events(Reader.read(log.path())));
            go.countDown();
        }
    }

    /** A file whose write(2) of one text does not return until it is told to. */
    private static final class Stopping extends FilterOutputStream {
        private final String text;
        private final boolean after; // it is written by then
        private final CountDownLatch stopped = new CountDownLatch(1), go = new CountDownLatch(1);
        private final CountDownLatch closed = new CountDownLatch(1);

        Stopping(OutputStream file, String text, boolean after) {
            super(file);
            this.text = text;
            this.after = after;
        }

        private static boolean has(byte[] line, String text) {
            return new String(line, StandardCharsets.US_ASCII).contains(text);
        }

        private void stop() throws IOException {
            stopped.countDown();
            try {
                go.await();
            } catch (InterruptedException e) {
                throw new IOException(e);
            }
        }

        @Override
        public void write(byte[] line) throws IOException {
            boolean mine = stopped.getCount() > 0 && has(line, text);

            if (has(line, " task=lost"))
                throw new IOException("as ordered");
            if (mine && !after)
                stop();
            out.write(line);
            if (mine && after)
                stop();
        }

        @Override
        public void close() throws IOException {
            closed.countDown();
            super.close();
        }
    }

    /** The first file of a log stops; what comes later is as it is. */
    private static UnaryOperator<OutputStream> first(AtomicReference<Stopping> first, String text,
        boolean after) {
        return file -> first.compareAndSet(null, new Stopping(file, text, after)) ? first.get()
            : file;
    }

    /** Nobody knows whether the beat has counted it: all is said again. */
    @Test
    void aTaskDoesNotWaitForABeat() throws Exception {
        AtomicReference<Stopping> file = new AtomicReference<>();

        try (Log log = log().beatEvery(20).through(first(file, " beat ", false)).open()) {
            Path first = log.path();
            file.get().stopped.await();
            CompletableFuture.runAsync(() -> { // who waits here waits for ever
                log.begin("1", null).close();
                log.begin("2", null);
            }).get(20, TimeUnit.SECONDS);
            assertEquals(List.of("host", "begin", "end", "begin"), events(Reader.read(first)));
            file.get().go.countDown();
            Reader.await("two more beats",
                () -> Reader.whichCount(Reader.read(first)).size() > 2);
            assertFalse(Reader.whichCount(Reader.read(first)).contains(true));
            Reader.await("a new file", () -> Reader.files(folder).equals(List.of(log.path()))
                && !log.path().equals(first));
            Reader.await("beats that count", () -> Reader.beats(Reader.read(log.path())) > 1);
            assertEquals("2", Reader.read(log.path(), "begin").get(0).get("task"));
            assertEquals("1", Reader.read(log.path(), "end").get(0).get("task"));
            assertEquals(0, log.failures());
        }
    }

    @Test
    void noBeatCountsBehindARecordThatWasLostBesideOne() throws Exception {
        AtomicReference<Stopping> file = new AtomicReference<>();

        try (Log log = log().beatEvery(20).through(first(file, " beat ", true)).open()) {
            Path first = log.path();
            file.get().stopped.await();
            log.begin("lost", null);
            assertEquals(1, log.failures());
            file.get().go.countDown();
            Reader.await("more beats", () -> Reader.whichCount(Reader.read(first)).size() > 2);
            List<Boolean> counts = Reader.whichCount(Reader.read(first));
            assertTrue(counts.get(0), "it was lost later");
            assertFalse(counts.subList(1, counts.size()).contains(true));
        }
    }

    @Test
    void noBeatCountsBehindARecordThatCouldNotBeMade() throws Exception {
        try (Log log = log().beatEvery(20).open()) {
            Path path = log.path();
            log.write(null);
            assertEquals(1, log.failures());
            int before = Reader.whichCount(Reader.read(path)).size() + 1; // one may be under way
            Reader.await("more beats",
                () -> Reader.whichCount(Reader.read(path)).size() > before + 2);
            List<Boolean> counts = Reader.whichCount(Reader.read(path));
            assertFalse(counts.subList(before, counts.size()).contains(true));
        }
    }

    @Test
    void goesOnAfterAnErrorAndAnInterrupt() throws Exception {
        AtomicInteger asked = new AtomicInteger();

        try (Log log = log().beatEvery(1000).reports(() -> {
            if (asked.incrementAndGet() == 1)
                Thread.currentThread().interrupt(); // cuts the next wait short, and no more
            if (asked.get() < 3)
                throw new OutOfMemoryError("as ordered");
            return new Snapshot();
        }).open()) {
            long began = System.nanoTime();
            Reader.await("beats", () -> Reader.beats(Reader.read(log.path())) > 0);
            assertTrue(System.nanoTime() - began > TimeUnit.MILLISECONDS.toNanos(1500),
                "the third one waits for its time");
        }
    }

    @Test
    void aNewFileDoesNotWaitForASlowRecordNorCutsItOff() throws Exception {
        AtomicReference<Stopping> file = new AtomicReference<>();

        try (Log log = log().beatEvery(20).through(first(file, " task=slow", false)).open()) {
            Path first = log.path();
            Thread task = new Thread(() -> log.begin("slow", null));
            task.start();
            file.get().stopped.await();
            Files.delete(first);
            Reader.await("a new file", () -> !first.equals(log.path()));
            Reader.await("beats that count", () -> Reader.beats(Reader.read(log.path())) > 1);
            assertEquals("slow", Reader.read(log.path(), "begin").get(0).get("task"));
            assertEquals(1, file.get().closed.getCount());
            file.get().go.countDown();
            task.join();
            assertEquals(0, file.get().closed.getCount());
            assertEquals(0, log.failures());
        }
    }

    @Test
    void writesOnWhenItsThreadIsInterrupted() throws Exception {
        try (Log log = log().open()) {
            Thread.currentThread().interrupt();
            log.begin("1", null);
            assertTrue(Thread.interrupted());
            log.begin("2", null);
            assertEquals(2, Reader.read(log.path(), "begin").size());
            assertEquals(0, log.failures());
        }
    }

    @Test
    void saysAllAgainInANewFileAndRemovesTheOld() throws Exception {
        Process child = child();
        String worker = Log.worker(child.pid());

        try (Log log = log().sizeMax(4096).beatEvery(50).open();
            ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            Path first = log.path();
            Socket closed = new Socket(server.getInetAddress(), server.getLocalPort());
            log.begin("open", "j").bind(worker).bind(closed);
            log.begin("ended", null).close();
            log.begin("over", "j2");
            log.endJob("j2", "ok");
            log.retired(worker);
            log.retired("1:1"); // nobody
            closed.close();
            for (int i = 0; i < 100; i++)
                log.begin("t" + i, null).close();
            Reader.await("a new file", () -> !first.equals(log.path()));
            Reader.await("only one", () -> Reader.files(folder).equals(List.of(log.path())));
            List<Reader.Line> lines = Reader.read(log.path());
            assertEquals("host", lines.get(0).event);
            Set<String> said = lines.stream().map(l -> l.text.split(" ", 3)[2])
                .collect(Collectors.toSet());
            assertTrue(said.contains("begin task=open job=j"));
            assertTrue(said.contains("begin task=open job=j worker=" + worker));
            assertTrue(said.contains("end task=ended outcome=ok"));
            assertTrue(said.contains("end job=j2 outcome=ok"));
            assertTrue(said.contains("end task=t99 outcome=ok"));
            assertTrue(said.contains("retired worker=" + worker));
            assertFalse(said.contains("retired worker=1:1"), "it is no more");
            assertFalse(said.contains("begin task=over job=j2"), "its job has ended");
            assertEquals(0, lines.stream().filter(l -> l.get("lport") != null).count(),
                "these ports may be another's by now");
            assertEquals(0, log.failures());
        } finally {
            child.destroyForcibly();
        }
    }

    @Test
    void remembersWhoHadTheLastTaskOfALivingWorker() throws Exception {
        Process child = child();
        String worker = Log.worker(child.pid());

        try (Log log = log().beatEvery(20).open()) {
            Path first = log.path();
            log.begin("1", null).bind(worker).close();
            Files.delete(first);
            Reader.await("a new file", () -> !first.equals(log.path()));
            Reader.await("said again", () -> Reader.read(log.path(), "end").size() > 0);
            assertEquals(worker, Reader.read(log.path(), "begin").get(0).get("worker"));
        } finally {
            child.destroyForcibly();
        }
    }

    @Test
    void losesNothingWhenFilesChangeUnderWriters() throws Exception {
        int threads = 4;
        CountDownLatch stop = new CountDownLatch(1), done = new CountDownLatch(threads);
        AtomicInteger tasks = new AtomicInteger();
        Set<Path> seen = new HashSet<>();

        try (Log log = log().sizeMax(4000).beatEvery(1).patience(NEVER).open()) {
            for (int i = 0; i < threads; i++)
                new Thread(() -> {
                    try {
                        while (!stop.await(1, TimeUnit.MILLISECONDS))
                            log.begin("t" + tasks.incrementAndGet(), null).close();
                    } catch (InterruptedException e) {
                        throw new IllegalStateException(e);
                    }
                    done.countDown();
                }).start();
            Reader.await("files that change", () -> {
                seen.add(log.path());
                return seen.size() > 4;
            });
            stop.countDown();
            done.await();
            // None has ended more than a minute ago, so the file of now has them all.
            Reader.await("all that has ended", () -> {
                Set<String> ended = new HashSet<>();
                for (Reader.Line l : Reader.read(log.path(), "end"))
                    ended.add(l.get("task"));
                return ended.size() == tasks.get() && Reader.files(folder).size() == 1;
            });
            assertTrue(tasks.get() > 50, "under load: " + tasks.get());
            assertEquals(0, log.failures());
        }
    }

    @Test
    void beginsANewFileAfterALoss() throws Exception {
        try (Log log = log().beatEvery(20).open()) {
            Path first = log.path();
            log.write(new Record("begin").with("task", "x".repeat(600)));
            assertEquals(1, log.failures());
            log.begin("1", null);
            Reader.await("a whole log", () -> Reader.files(folder).equals(List.of(log.path()))
                && !log.path().equals(first));
            Reader.await("a beat that counts", () -> Reader.beats(Reader.read(log.path())) > 0);
        }
    }

    private void allowNoOther(Path first) throws IOException {
        String next = first.getFileName().toString().replaceFirst("-1[.]log$", "-");

        assertTrue(next.endsWith("-"), next);
        for (int i = 2; i < 1000; i++)
            Files.createDirectory(folder.resolve(next + i + ".log"));
    }

    /** It has every record: better than no log, though no beat counts any more. */
    @Test
    void keepsALogWhoseBeatsDoNotCount() throws Exception {
        AtomicReference<Stopping> file = new AtomicReference<>();

        try (Log log = log().beatEvery(20).neverReuses().through(first(file, " beat ", false))
            .open()) {
            Path first = log.path();
            allowNoOther(first);
            file.get().stopped.await();
            log.begin("1", null);
            file.get().go.countDown();
            awaitFailures(log, 1); // a new file
            int beats = Reader.read(first, "beat").size();
            Reader.await("it goes on", () -> Reader.read(first, "beat").size() > beats + 1);
            assertEquals(1, Reader.read(first, "begin").size());
        }
    }

    /** Its `begin` was lost: nobody may conclude from its `end` that nothing runs. */
    @Test
    void leavesNoLogThatMisleads() throws Exception {
        try (Log log = log().beatEvery(20).neverReuses().open()) {
            Path first = log.path();
            allowNoOther(first);
            log.write(new Record("begin").with("task", "x".repeat(600)));
            Reader.await("no log", () -> !Files.exists(first));
            assertEquals(first, log.path());
        }
    }

    @Test
    void findsANameForEveryTask() throws Exception {
        try (Log log = log().open()) {
            log.begin("x".repeat(100), null).close();
            assertEquals(Reader.read(log.path(), "begin").get(0).get("task"),
                Reader.read(log.path(), "end").get(0).get("task"));
            assertEquals(0, log.failures());
        }
    }

    @Test
    void leavesTheAppOutWhereItDoesNotFit() throws Exception {
        String odd = " ".repeat(64);

        try (Log log = Log.of(odd).folder(folder).app(odd).open()) {
            Reader.Line host = Reader.read(log.path()).get(0);
            assertEquals("%20".repeat(64), host.get("class"));
            assertNull(host.get("app"));
        }
    }

    @Test
    void refusesAWorkerThatIsNone() throws Exception {
        try (Log log = log().open()) {
            for (String odd : new String[] { null, "", "1", "1:", ":1", "0:1", "1:1 ", "self" }) {
                log.pooled(odd);
                log.leased(odd, "1");
                log.retired(odd);
                log.begin("1", null).bind(odd);
            }
            assertEquals(8 * 4, log.failures());
            assertEquals(8, Reader.read(log.path(), "begin").size());
            assertEquals(9, Reader.read(log.path()).size());
        }
    }

    @Test
    void doesNotDisturbWhereItCannotWrite() throws Exception {
        Path file = Files.createFile(folder.resolve("file"));

        try (Log log = Log.of(name).folder(file).beatEvery(10).open()) {
            assertNull(log.path());
            try (Task task = log.begin("1", null)) {
                task.bind(ProcessHandle.current().pid());
            }
            log.pooled("1:1");
            assertTrue(log.failures() >= 4, "counted: " + log.failures());
        }
    }

    @Test
    void refusesATaskWithoutAName() throws Exception {
        try (Log log = log().open()) {
            try (Task task = log.begin(null, null)) {
                task.bind("1:1");
            }
            assertEquals(List.of("host"), events(Reader.read(log.path())));
            assertEquals(1, log.failures());
        }
    }

    @Test
    void takesAPromiseBackInANewFile() throws Exception {
        try (Log log = log().beatEvery(20).bracketsAll().reports(Snapshot::new).open()) {
            Path first = log.path();
            assertEquals("reported", Reader.read(first).get(0).get("pool"));
            log.reportNoMore();
            Reader.await("a new file", () -> Reader.files(folder).equals(List.of(log.path()))
                && !log.path().equals(first));
            Reader.Line host = Reader.read(log.path()).get(0);
            assertEquals("unknown", host.get("pool"));
            assertEquals("all", host.get("tasks"));
            Reader.await("beats go on", () -> Reader.beats(Reader.read(log.path())) > 1);
        }
    }

    /** Two beats with no list between them would prove that nobody is pooled. */
    @Test
    void doesNotBeatWhereAPromiseCannotBeTakenBack() throws Exception {
        Path place = folder.resolve("place"), moved = folder.resolve("moved");

        try (Log log = log().folder(place).beatEvery(20).reports(Snapshot::new).open()) {
            Path first = log.path(), file = moved.resolve(first.getFileName());
            Files.move(place, moved);
            Files.createFile(place);
            Reader.await("beats", () -> Reader.beats(Reader.read(file)) > 1);
            log.reportNoMore();
            awaitFailures(log, 2); // the beat that was on its way is written
            int beats = Reader.beats(Reader.read(file));
            awaitFailures(log, 5);
            assertEquals(beats, Reader.beats(Reader.read(file)));
            Files.delete(place);
            Reader.await("a new file", () -> !first.equals(log.path()));
            assertEquals("unknown", Reader.read(log.path()).get(0).get("pool"));
            Reader.await("beats again", () -> Reader.beats(Reader.read(log.path())) > 1);
        }
    }

    private static void awaitFailures(Log log, long more) throws Exception {
        long until = log.failures() + more;

        Reader.await("it tries again", () -> log.failures() >= until);
    }

    @Test
    void takesThePlaceOfAClosedOne() throws Exception {
        Log first = log().open();
        Path path = first.path();

        assertEquals(1, Log.opened(name));
        first.close();
        assertTrue(Files.exists(path));
        try (Log second = log().open()) {
            assertEquals(2, Log.opened(name));
            assertNotEquals(path, second.path());
            assertEquals(List.of(second.path()), Reader.files(folder));
        }
    }

    @Test
    void livesBesideAnotherThatIsOpen() throws Exception {
        try (Log first = log().open(); Log second = log().open()) {
            assertEquals(2, Reader.files(folder).size());
            assertNotNull(first.path());
            assertNotNull(second.path());
        }
    }

    @Test
    void keepsNoJvmAlive() throws Exception {
        List<Thread> found = new ArrayList<>();

        try (Log log = log().open()) {
            assertNotNull(log.path());
            for (Thread t : Thread.getAllStackTraces().keySet())
                if (t.getName().equals("reaper-markers-" + name))
                    found.add(t);
            assertEquals(1, found.size());
            assertTrue(found.get(0).isDaemon());
        }
        found.get(0).join();
    }
}
