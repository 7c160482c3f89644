// SPDX-License-Identifier: Apache-2.0
package reaper.pyjava;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import reaper.markers.Log;
import tech.mlsql.arrow.python.PythonWorkerFactory;
import tech.mlsql.arrow.python.PythonWorkerFactory$;
import tech.mlsql.arrow.python.iapp.JavaContext;
import tech.mlsql.arrow.python.runner.BasePythonRunner;

/** The rules, on stand-ins with pyjava's names; "over" is at once here. */
@Timeout(60)
class WatchTest {
    @TempDir
    static Path folder;

    private final PythonWorkerFactory factory = PythonWorkerFactory$.MODULE$.factory("python");
    private final Brackets brackets = new Brackets();
    private final Watch watch = new Watch(brackets, 0);
    private final List<Process> processes = new ArrayList<>();
    private final List<Socket> sockets = new ArrayList<>();
    private final Set<String> retired = new TreeSet<>();
    private ServerSocket server;
    private Log log;

    @BeforeEach
    void open() throws IOException {
        server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        log = Log.of("watch").folder(folder).open();
    }

    @AfterEach
    void close() throws IOException {
        for (Socket s : sockets)
            s.close();
        processes.forEach(Process::destroyForcibly);
        server.close();
        log.close();
    }

    /** A worker: a process, and a connection that stands for it. */
    private Socket worker() throws IOException {
        Socket socket = new Socket(server.getInetAddress(), server.getLocalPort());
        Process process = new ProcessBuilder("sleep", "60").start();

        sockets.add(socket);
        processes.add(process);
        factory.add(socket, (int) process.pid());
        return socket;
    }

    private String name(Socket socket) {
        return Log.worker(processes.get(sockets.indexOf(socket)).pid());
    }

    private Bracket begin(String task, String job, Object context) {
        Bracket b = new Bracket(task, job, context, log.begin(task, job));

        brackets.add(b);
        return b;
    }

    private static BasePythonRunner runner() {
        return new BasePythonRunner();
    }

    /** Looks twice, since at least one look has to lie after the end. */
    private void look() throws ReflectiveOperationException {
        watch.look(retired::add);
        assertNotNull(watch.look(retired::add));
    }

    private Set<String> listed(String event) throws Exception {
        Log own = Log.of("list" + event).folder(folder).reports(() -> {
            try {
                return watch.look(retired::add);
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(e);
            }
        }).open();
        Set<String> found = new TreeSet<>();
        Path path = own.path();

        while (!Files.readString(path).contains(" beat "))
            Thread.sleep(50);
        own.close();
        for (String line : Files.readAllLines(path))
            if (line.contains(" " + event + " worker="))
                found.add(line.substring(line.indexOf("worker=") + 7).split(" ")[0]);
        return found;
    }

    @Test
    void whatItsTaskForgotIsGivenUp() throws Exception {
        Socket worker = worker();

        begin("1", null, null);
        runner().compute(worker, new JavaContext());
        look();
        assertEquals(Set.of(), retired);
        brackets.end("1", null);
        look();
        assertEquals(Set.of(name(worker)), retired);
        retired.clear();
        look();
        assertEquals(Set.of(), retired, "said once");
        assertEquals(Set.of(), listed("leased"));
    }

    @Test
    void whatIsForgottenBetweenTwoLooksIsSeen() throws Exception {
        Socket worker = worker();

        begin("1", null, null);
        runner().compute(worker, new JavaContext());
        brackets.end("1", null);
        look();
        assertEquals(Set.of(name(worker)), retired);
    }

    @Test
    void onlyAfterFiveSeconds() throws Exception {
        Watch real = new Watch(brackets);
        long five = TimeUnit.SECONDS.toNanos(5);

        begin("1", null, null);
        runner().compute(worker(), new JavaContext());
        long before = System.nanoTime();
        brackets.end("1", null);
        long after = System.nanoTime();
        while (System.nanoTime() - after < five) {
            Set<String> early = new TreeSet<>();
            real.look(early::add);
            if (System.nanoTime() - before < five) // else the look may have been late
                assertEquals(Set.of(), early);
            retired.addAll(early);
            Thread.sleep(100);
        }
        real.look(retired::add);
        assertEquals(1, retired.size());
    }

    @Test
    void whatWasReleasedOrClosedIsNot() throws Exception {
        Socket released = worker(), closed = worker();

        begin("1", null, null);
        AtomicBoolean flag = runner().compute(released, new JavaContext());
        runner().compute(closed, new JavaContext());
        brackets.end("1", null);
        flag.set(true);
        closed.close();
        look();
        assertEquals(Set.of(), retired);
        assertEquals(Set.of(name(released)), listed("leased"), "in doubt it is still used");
    }

    @Test
    void whatIsPooledIsNot() throws Exception {
        Socket worker = worker();

        begin("1", null, null);
        runner().compute(worker, new JavaContext());
        brackets.end("1", null);
        factory.release(worker);
        look();
        assertEquals(Set.of(), retired);
        assertEquals(Set.of(name(worker)), listed("pooled"));
        assertEquals(Set.of(), listed("leased"));
        factory.take();
    }

    @Test
    void whatWasCompletedIsNot() throws Exception {
        JavaContext context = new JavaContext();

        begin("1", null, null);
        runner().compute(worker(), context);
        look();
        brackets.end("1", null);
        context.markComplete(); // its close() may hang
        look();
        assertEquals(Set.of(), retired);
    }

    @Test
    void aContextThatSparkClosesIsNot() throws Exception {
        begin("1", null, null);
        runner().compute(worker(), "a TaskContext");
        brackets.end("1", null);
        look();
        assertEquals(Set.of(), retired);
    }

    @Test
    void allTasksThatRanThenHaveToBeOver() throws Exception {
        begin("1", null, null);
        begin("2", null, null);
        runner().compute(worker(), new JavaContext());
        begin("3", null, null);
        brackets.end("1", null);
        look();
        assertEquals(Set.of(), retired);
        brackets.end("2", null);
        look();
        assertEquals(1, retired.size(), "3 began later");
    }

    @Test
    void aContextThatIsNamedIsItsTasksAlone() throws Exception {
        JavaContext context = new JavaContext();

        begin("1", null, null);
        begin("2", null, context);
        runner().compute(worker(), context);
        brackets.end("2", null);
        look();
        assertEquals(1, retired.size());
    }

    @Test
    void aContextOutsideOfEveryTaskIsNeverGivenUp() throws Exception {
        begin("1", null, null);
        brackets.end("1", null);
        runner().compute(worker(), new JavaContext());
        begin("2", null, null);
        brackets.end("2", null);
        look();
        assertEquals(Set.of(), retired);
    }

    @Test
    void aContextBelongsToTheJobThatItsRunnerNames() throws Exception {
        Socket worker = worker();

        begin(null, "a", null);
        begin(null, "b", null);
        runner().conf("GROUP_ID", "a").compute(worker, new JavaContext());
        brackets.end(null, "b");
        look();
        assertEquals(Set.of(), retired);
        brackets.end(null, "a");
        look();
        assertEquals(Set.of(name(worker)), retired);
    }

    @Test
    void whereNotAllIsToldOnlyNamedJobsCount() throws Exception {
        watch.bracketsSome();
        begin(null, "a", null);
        runner().compute(worker(), new JavaContext());
        runner().conf("groupId", "other").compute(worker(), new JavaContext());
        brackets.end(null, "a");
        runner().conf("groupId", "a").compute(worker(), new JavaContext()); // after its end
        look();
        assertEquals(Set.of(), retired);
    }

    @Test
    void aContextOfOneTaskBindsItsWorker() throws Exception {
        Socket worker = worker();

        begin("1", "j", null);
        runner().compute(worker, new JavaContext());
        look();
        assertEquals(1, Files.readAllLines(log.path()).stream().filter(l -> l.endsWith(
            " begin task=1 job=j lport=" + worker.getLocalPort() + " dport=" + worker.getPort()))
            .count());
    }

    @Test
    void listsAllThatMayBeUsed() throws Exception {
        Socket pooled = worker(), used = worker(), closed = worker();

        factory.release(pooled);
        closed.close();
        assertEquals(Set.of(name(pooled)), listed("pooled"));
        assertEquals(Set.of(name(used)), listed("leased"));
        factory.take();
    }
}
