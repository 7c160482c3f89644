// SPDX-License-Identifier: Apache-2.0
package reaper.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.net.Socket;
import java.nio.channels.Channel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.ConcurrentModificationException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.api.python.PythonRunner$;
import org.apache.spark.api.python.PythonWorkerFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.junit.jupiter.api.condition.JRE;
import reaper.markers.Log;
import scala.Tuple2;

/** How lists of the pool fail, on stand-ins of Spark; tests/spark has the real ones. */
@Timeout(60)
class WorkerPoolsTest {
    private static final Duration AT_ONCE = Duration.ofSeconds(10);

    /** A worker as 4.x has it. */
    public static final class Worker {
        private final SocketChannel channel;

        Worker(SocketChannel channel) {
            this.channel = channel;
        }

        public Channel channel() {
            return channel;
        }
    }

    private final TaskMarkers markers = new TaskMarkers();
    private final List<Process> processes = new ArrayList<>();
    private final Set<Object> pairs = PythonRunner$.MODULE$.runningMonitorThreads();
    private final PrintStream stderr = System.err;
    private final ByteArrayOutputStream said = new ByteArrayOutputStream();
    private final AtomicInteger asked = new AtomicInteger();
    private final CountDownLatch opened = new CountDownLatch(1); // the first file, to be read
    private final Socket idle = new Socket();
    private final Socket leased = new Socket();
    private Process idleProcess;
    private Process leasedProcess;

    @BeforeEach
    void open() throws IOException {
        idleProcess = process();
        leasedProcess = process();
        System.setErr(new PrintStream(said, true));
    }

    @AfterEach
    void close() throws Exception {
        opened.countDown();
        markers.shutdown();
        for (Thread thread : OwnLog.threads())
            thread.join(AT_ONCE.toMillis());
        System.setErr(stderr);
        pairs.clear();
        SparkEnv.found = () -> null;
        processes.forEach(Process::destroyForcibly);
    }

    private Process process() throws IOException {
        Process process = new ProcessBuilder("sleep", "60").start();

        processes.add(process);
        return process;
    }

    /** As 3.x has it. */
    private static int pid(Process process) {
        return (int) process.pid();
    }

    private static String name(Process process) {
        return Log.worker(process.pid());
    }

    private static Tuple2<Object, Object> pair(Object worker, Object process) {
        return new Tuple2<>(worker, process);
    }

    private static SparkEnv env(Object... factories) {
        return new SparkEnv(new Held(factories));
    }

    /** A Spark with one factory, which has these collections. */
    private static SparkEnv pool(Object idleWorkers, Object daemonWorkers) {
        return env(new PythonWorkerFactory(idleWorkers, daemonWorkers));
    }

    private Held idleWorkers() {
        return new Held(idle);
    }

    private Held daemonWorkers() {
        return new Held(pair(idle, pid(idleProcess)), pair(leased, leasedProcess.toHandle()));
    }

    private SparkEnv healthy() {
        return pool(idleWorkers(), daemonWorkers());
    }

    private void begin(Supplier<SparkEnv> found) {
        SparkEnv.found = () -> {
            asked.incrementAndGet();
            return found.get();
        };
        markers.init(SparkConf::new, Map.of());
    }

    private void task(long id) {
        TaskContext.set(new TaskContext(id));
        markers.onTaskStart();
        TaskContext.set(null);
        markers.onTaskSucceeded();
    }

    /** What was said on stderr; that this is not the JVM's first SparkContext is true here. */
    private void hasSaid(String... parts) {
        List<String> lines = said.toString().lines().filter(l -> l.startsWith("reaper-")
            && !l.contains("a second SparkContext")).collect(Collectors.toList());

        assertEquals(parts.length > 0 ? 1 : 0, lines.size(), lines.toString());
        for (String part : parts)
            assertTrue(lines.get(0).contains(part), lines.toString());
    }

    /** What is told of workers before the first beat, or at all. */
    private static List<String> listed(List<String> lines) {
        return lines.stream().takeWhile(l -> !l.startsWith("beat "))
            .filter(l -> l.startsWith("pooled ") || l.startsWith("leased "))
            .collect(Collectors.toList());
    }

    private static long beats(List<String> lines) {
        return lines.stream().filter(l -> l.startsWith("beat ")).count();
    }

    private static void hasTask(long id, List<String> lines) {
        int begin = lines.indexOf("begin task=" + id), end = lines.lastIndexOf(
            "end task=" + id + " outcome=ok");

        assertTrue(begin > 0 && end > begin, lines.toString());
    }

    /** The first beat follows a list of both workers. */
    private void hasAll(List<String> lines) {
        assertEquals(List.of("pooled worker=" + name(idleProcess),
            "leased worker=" + name(leasedProcess)), listed(lines));
    }

    /**
     * No beat follows the list that failed, not even in the file that is removed; the next one
     * promises no lists, beats, and has the tasks of before and of then. It is said once.
     */
    private void isTakenBack(String why, Supplier<SparkEnv> broken) throws Exception {
        begin(() -> {
            try {
                opened.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            return broken.get();
        });
        Path first = OwnLog.path();
        task(1);
        try (InputStream in = Files.newInputStream(first)) {
            opened.countDown();
            OwnLog.await(() -> !OwnLog.path().equals(first) && OwnLog.beats() >= 3);
            task(2);
            List<String> old = OwnLog.lines(new String(in.readAllBytes()));
            assertTrue(old.get(0).contains(" pool=reported "), old.get(0));
            hasTask(1, old);
            assertEquals(0, beats(old), old.toString());
            assertEquals(List.of(), listed(old));
        }
        List<String> fresh = OwnLog.lines();
        assertTrue(fresh.get(0).contains(" pool=unknown "), fresh.get(0));
        assertTrue(fresh.contains("end task=1 outcome=ok"), fresh.toString());
        hasTask(2, fresh);
        assertEquals(List.of(), listed(fresh));
        assertEquals(1, asked.get(), "nobody lists any more");
        hasSaid("can no longer be read, so only tasks are reported", why);
    }

    /** No beat as long as it lasts; tasks are told of; then lists come, of all. */
    private void isNotListedFor(Supplier<SparkEnv> broken) throws Exception {
        begin(broken);
        Path path = OwnLog.path();
        task(1);
        OwnLog.await(() -> asked.get() >= 4);
        List<String> lines = OwnLog.lines();
        assertEquals(0, beats(lines), lines.toString());
        assertEquals(List.of(), listed(lines));
        task(2);
        SparkEnv env = healthy();
        SparkEnv.found = () -> env;
        OwnLog.await(() -> OwnLog.beats() > 0);
        lines = OwnLog.lines();
        hasAll(lines);
        hasTask(1, lines);
        hasTask(2, lines);
        assertEquals(path, OwnLog.path(), "the promise holds");
    }

    @Test
    void listsAllThatMayBeUsed() throws Exception {
        Worker channel = new Worker(SocketChannel.open());
        Socket closed = new Socket();
        Process other = process();
        Held idles = idleWorkers(), all = daemonWorkers();
        Held others = new Held(pair(channel, pid(other)), pair(closed, pid(process())));
        PythonWorkerFactory first = new PythonWorkerFactory(idles, all);
        PythonWorkerFactory second = new PythonWorkerFactory(new Held(), others);
        Held factories = new Held(first, second);
        SparkEnv env = new SparkEnv(factories);

        closed.close();
        idles.owner = all.owner = first;
        others.owner = second;
        factories.owner = env;
        begin(() -> env);
        TaskContext.set(new TaskContext(7));
        markers.onTaskStart();
        pairs.add(pair(channel, 7L));
        OwnLog.await(() -> OwnLog.beats() > 0);
        markers.onTaskSucceeded();
        assertEquals(List.of("pooled worker=" + name(idleProcess),
            "leased worker=" + name(leasedProcess), "leased worker=" + name(other) + " task=7"),
            listed(OwnLog.lines()));
        assertTrue(OwnLog.lines().contains("begin task=7 worker=" + name(other)));
        for (Held held : List.of(idles, all, others, factories))
            assertFalse(held.wasReadUnlocked());
    }

    @Test
    void whatIsCalledOtherwiseIsNotPromised() {
        for (String name : List.of("pythonWorkers", "idleWorkers", "daemonWorkers",
            "runningMonitorThreads"))
            OtherRelease.without(name, () -> {
                Throwable why = assertThrows(ReflectiveOperationException.class,
                    () -> new WorkerPools(Map.of()), name);
                assertTrue(why.getMessage().contains(name), why.toString());
            });
    }

    @Test
    void factoriesOfAnotherTypeAreTakenBack() throws Exception {
        isTakenBack("valuesIterator", () -> new SparkEnv("no map"));
    }

    @Test
    void idleWorkersOfAnotherTypeAreTakenBack() throws Exception {
        isTakenBack("iterator", () -> pool("no queue", daemonWorkers()));
    }

    @Test
    void workersOfAnotherTypeAreTakenBack() throws Exception {
        isTakenBack("iterator", () -> pool(idleWorkers(), "no map"));
    }

    @Test
    void workersWithoutAProcessAreTakenBack() throws Exception {
        isTakenBack("_1",
            () -> pool(idleWorkers(), new Held(pair(leased, pid(leasedProcess)), "no pair")));
    }

    @Test
    void aTaskOfAnotherTypeIsTakenBack() throws Exception {
        isTakenBack("ClassCastException", () -> {
            pairs.add(pair(leased, 1));
            return healthy();
        });
    }

    @Test
    void aConnectionOfAnotherTypeIsTakenBack() throws Exception {
        isTakenBack("channel",
            () -> pool(idleWorkers(), new Held(pair(idle, pid(idleProcess)), pair("none", 1))));
    }

    @Test
    @EnabledForJreRange(min = JRE.JAVA_16)
    void aProcessThatMayNotBeLookedIntoIsTakenBack() throws Exception {
        isTakenBack("InaccessibleObjectException",
            () -> pool(idleWorkers(), new Held(pair(leased, leasedProcess))));
    }

    @Test
    void anExceptionInTheMiddleIsTakenBack() throws Exception {
        isTakenBack("InvocationTargetException",
            () -> pool(idleWorkers(), new Held(pair(idle, pid(idleProcess)),
                new ConcurrentModificationException(), pair(leased, pid(leasedProcess)))));
    }

    @Test
    void aMethodThatIsGoneIsTakenBack() throws Exception {
        isTakenBack("NoSuchMethodError", () -> {
            throw new NoSuchMethodError("get");
        });
    }

    @Test
    void withoutSparkEnvThereIsNoList() throws Exception {
        isNotListedFor(() -> null);
        hasSaid();
    }

    @Test
    void aMapThatIsNullIsNoEmptyPool() throws Exception {
        isNotListedFor(() -> new SparkEnv(null));
        hasSaid("NullPointerException");
    }

    @Test
    void collectionsThatAreNullAreNoEmptyPool() throws Exception {
        isNotListedFor(() -> asked.get() % 2 == 0 ? pool(null, daemonWorkers())
            : pool(idleWorkers(), null));
        hasSaid("NullPointerException");
    }

    @Test
    void aWorkerWithoutANumberIsNotLeftOut() throws Exception {
        isNotListedFor(() -> pool(idleWorkers(),
            new Held(pair(idle, pid(idleProcess)), pair(leased, null))));
        hasSaid("NullPointerException");
    }

    @Test
    void aWorkerThatHasExitedKeepsNoOtherOut() throws Exception {
        Process gone = process();
        SparkEnv env = pool(idleWorkers(), new Held(pair(new Socket(), pid(gone)),
            pair(idle, pid(idleProcess)), pair(leased, pid(leasedProcess))));

        gone.destroyForcibly().waitFor();
        begin(() -> env);
        OwnLog.await(() -> OwnLog.beats() > 0);
        hasAll(OwnLog.lines());
        hasSaid();
    }

    /** While another has a lock of Spark's the log waits for it, and no task does. */
    private void noTaskWaitsWhileHeld(SparkEnv env, Object lock) throws Exception {
        begin(() -> env);
        OwnLog.await(() -> OwnLog.beats() > 0);
        synchronized (lock) {
            OwnLog.await(() -> OwnLog.threads().stream()
                .anyMatch(t -> t.getState() == Thread.State.BLOCKED));
            long before = OwnLog.beats();
            assertTimeoutPreemptively(AT_ONCE, () -> {
                task(1);
                task(2);
            });
            // No lock of Spark's is held while another is waited for.
            if (lock != env)
                assertTimeoutPreemptively(AT_ONCE, () -> {
                    synchronized (env) {
                        task(3);
                    }
                });
            assertEquals(before, OwnLog.beats());
        }
        long then = OwnLog.beats();
        OwnLog.await(() -> OwnLog.beats() > then);
        hasTask(1, OwnLog.lines());
        hasTask(2, OwnLog.lines());
        hasSaid();
    }

    @Test
    void noTaskWaitsForSparksLock() throws Exception {
        SparkEnv env = healthy();

        noTaskWaitsWhileHeld(env, env);
    }

    @Test
    void noTaskWaitsForAFactorysLock() throws Exception {
        PythonWorkerFactory factory = new PythonWorkerFactory(idleWorkers(), daemonWorkers());

        noTaskWaitsWhileHeld(env(factory), factory);
    }
}
