// SPDX-License-Identifier: Apache-2.0
package reaper.markers;

import java.io.Closeable;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;

/**
 * The marker log of this JVM for one class of workers (reaper-markers(5)).
 *
 * <pre>
 * Log log = Log.of("mine").neverReuses().bracketsAll().poolTimeout(60_000).open();
 * try (Task task = log.begin("17", "job3")) {
 *     task.bind(socket);
 *     ...
 * }
 * </pre>
 *
 * Nothing here throws because of the log or waits for another's work: a host must not suffer
 * because of it. What could not be written is counted ({@link #failures}) and said once on
 * stderr.
 *
 * <h2>Who writes</h2>
 *
 * A `begin` must be in the file before its task may take a worker, so the task's own thread
 * writes it; `end` likewise, for there is nothing to gain by a queue. No thread holds a lock
 * while it writes; the kernel's, for appends of one file, it cannot do without. Only a beat asks
 * records to wait, for the length of one write(2) every two seconds and for 100 milliseconds at
 * most: after that they are written beside it, and the log is said again in a new file
 * ({@link Segment}).
 *
 * <h2>How long it grows</h2>
 *
 * After 8 MiB (a reader takes 16 of each log at one look) a new file is begun, with all that
 * {@link Known} holds said again, and then the old one is removed: while it is there, its silence
 * keeps the reader from every proof by lists.
 */
public final class Log implements AutoCloseable {
    /** The reader wants a beat every 2 to 10 seconds. */
    private static final long BEAT_NS = TimeUnit.SECONDS.toNanos(2);
    private static final long AGAIN_NS = TimeUnit.SECONDS.toNanos(10);
    private static final long PATIENCE_NS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final long SIZE_MAX = 8 << 20;
    private static final String PROPERTY = "reaper.markers.";
    private static final String REPORTED = "reported";
    private static final String NONE = "none";

    /** What a host promises of its class, and where the log goes. */
    public static final class Builder {
        private final String className;
        private String pool = "unknown";
        private String tasks = "some";
        private String timeoutMs;
        private String app;
        private Supplier<Snapshot> snapshots;
        private Path folder;
        private long sizeMax = SIZE_MAX;
        private long beatNs = BEAT_NS;
        private long patienceNs = PATIENCE_NS;
        private UnaryOperator<OutputStream> through = UnaryOperator.identity();

        private Builder(String className) {
            this.className = className;
        }

        /** Promises pool=none: no worker is used for a second task. */
        public Builder neverReuses() {
            pool = NONE;
            snapshots = null;
            return this;
        }

        /**
         * Promises pool=reported. The supplier is called before each beat, by a thread of its
         * own; null, or an exception, and there is no beat this time.
         */
        public Builder reports(Supplier<Snapshot> pools) {
            pool = REPORTED;
            snapshots = pools;
            return this;
        }

        /** Promises tasks=all: every task is bracketed, whether it uses a worker or not. */
        public Builder bracketsAll() {
            tasks = "all";
            return this;
        }

        /** How long the host keeps idle workers. */
        public Builder poolTimeout(long ms) {
            timeoutMs = Long.toString(ms);
            return this;
        }

        /** For people. */
        public Builder app(String name) {
            app = Record.cut(name);
            return this;
        }

        /** Where the log goes, if not where REAPER_MARKER_DIR or reaper's defaults say. */
        public Builder folder(Path where) {
            folder = where;
            return this;
        }

        Builder sizeMax(long bytes) {
            sizeMax = bytes;
            return this;
        }

        Builder beatEvery(long ms) {
            beatNs = TimeUnit.MILLISECONDS.toNanos(ms);
            return this;
        }

        Builder patience(long ms) {
            patienceNs = TimeUnit.MILLISECONDS.toNanos(ms);
            return this;
        }

        Builder through(UnaryOperator<OutputStream> wrap) {
            through = wrap;
            return this;
        }

        /** Opens the log; where that fails it is tried again every ten seconds. */
        public Log open() {
            return new Log(this);
        }
    }

    private final String className;
    private final String tasks;
    private final String timeoutMs;
    private final String app;
    private final Path folder;
    private final long sizeMax;
    private final long beatNs;
    private final long patienceNs;
    private final UnaryOperator<OutputStream> through;
    private volatile String pool;
    private volatile Supplier<Snapshot> snapshots;

    private volatile Segment segment; // null: not open
    private final Known known = new Known();
    private final AtomicLong failures = new AtomicLong();
    private final List<Path> stale = new ArrayList<>(); // by the thread that opens files
    private final Thread thread;
    private long triedNs;
    private volatile boolean closed;

    private Log(Builder b) {
        className = b.className;
        tasks = b.tasks;
        timeoutMs = b.timeoutMs;
        app = b.app;
        folder = b.folder;
        sizeMax = b.sizeMax;
        beatNs = b.beatNs;
        patienceNs = b.patienceNs;
        through = b.through;
        pool = b.pool;
        snapshots = b.snapshots;
        stale.addAll(takeOver(className));
        reopen();
        thread = new Thread(this::run, "reaper-markers-" + className);
        thread.setDaemon(true); // no JVM lives on for it
        thread.start();
    }

    /**
     * Begins to describe the log of a class of workers: the name of a [class] of reaper.conf(5).
     */
    public static Builder of(String className) {
        return new Builder(className);
    }

    /**
     * How many logs of a class this JVM has opened so far. Ids are the host's, not the log's: a
     * second log of a class must not use the ids of the first again.
     */
    public static int opened(String className) {
        return Integer.parseInt(System.getProperty(PROPERTY + "opened." + className, "0"));
    }

    /**
     * Says that a task runs, before it may take a worker. One of the two names may be null. An id
     * is never used again: a task that has ended stays ended.
     */
    public Task begin(String task, String job) {
        Task t = new Task(this, task, job);

        if (task == null && job == null) {
            complain(new IllegalArgumentException("a task without a name"));
            return t;
        }
        known.begun(t);
        write(t.beginRecord());
        return t;
    }

    /** Says that a task has ended. */
    public void end(String task, String outcome) {
        end(new Task(this, task, null).outcome(outcome));
    }

    /** Says that every task that was begun with this job has ended. */
    public void endJob(String job, String outcome) {
        end(new Task(this, null, job).outcome(outcome));
    }

    void end(Task t) {
        if (t.task() == null && t.job() == null)
            return;
        known.ended(t);
        write(Known.endRecord(t));
    }

    void bind(Task t, long pid) {
        try {
            bind(t, Self.identity(pid));
        } catch (IOException | RuntimeException e) {
            // It is gone already: there is nobody to bind.
        }
    }

    void bind(Task t, String worker) {
        if (isWorker(worker))
            bind(t, new Known.Binding(worker));
    }

    void bind(Task t, Closeable connection, int lport, int dport) {
        if (lport > 0 && dport > 0)
            bind(t, new Known.Binding(connection, lport, dport));
    }

    private void bind(Task t, Known.Binding binding) {
        if (t.task() == null && t.job() == null)
            return;
        known.bound(t, binding);
        write(binding.addTo(t.beginRecord()));
    }

    /** Says that a worker, PID:START, is in the pool. */
    public void pooled(String worker) {
        if (isWorker(worker))
            write(new Record("pooled").with("worker", worker));
    }

    /** Says that a worker, PID:START, is taken by a task (which may be null). */
    public void leased(String worker, String task) {
        if (isWorker(worker))
            write(new Record("leased").with("worker", worker).name("task", task));
    }

    /** Says that a worker, PID:START, is given up: the host will never use it again. */
    public void retired(String worker) {
        if (!isWorker(worker))
            return;
        known.retired(worker);
        write(new Record("retired").with("worker", worker));
    }

    private boolean isWorker(String worker) {
        if (Record.isWorker(worker))
            return true;
        complain(new IllegalArgumentException("a worker that is not PID:START: " + worker));
        return false;
    }

    /** How many records could not be written, and what else went wrong. */
    public long failures() {
        return failures.get();
    }

    /** The file that is written now; null: none could be opened. */
    public Path path() {
        Segment s = segment;

        return s == null ? null : s.path();
    }

    /** The number of a process as records name it, PID:START; null: there is none. */
    public static String worker(long pid) {
        try {
            return Self.identity(pid);
        } catch (IOException | RuntimeException e) {
            return null;
        }
    }

    /**
     * Takes pool=reported back, when the pool turned out not to be readable; tasks= stays. That
     * takes a new file: until there is one, nothing beats.
     */
    public void reportNoMore() {
        pool = "unknown";
        snapshots = null;
    }

    void write(Record record) {
        try {
            byte[] line = record.line();

            while (!put(line))
                continue; // the file was closed: there is another
        } catch (IOException e) {
            complain(e);
        } catch (RuntimeException | Error e) {
            lose();
            complain(e);
        }
    }

    /** Not even a record could be made (there is no memory, say). */
    private void lose() {
        Segment s = segment;

        if (s != null)
            s.lose();
    }

    private boolean put(byte[] line) throws IOException {
        Segment s = segment;

        if (s != null)
            return s.put(line);
        failures.incrementAndGet();
        return true;
    }

    /** Counts a failure, and says the first. */
    void complain(Throwable e) {
        if (failures.incrementAndGet() == 1)
            System.err.println("reaper-markers: " + e + ": going on without a whole log");
    }

    // What follows is done by the log's own thread (the first reopen() by the one that made it).

    private void run() {
        while (!closed) {
            LockSupport.parkNanos(beatNs);
            try {
                if (!closed)
                    tick();
            } catch (Throwable e) { // without this thread nothing would make the log whole again
                complain(e);
            }
            Thread.interrupted(); // who interrupts all threads means others; this one must park
        }
        release();
    }

    /** What comes from now on is lost, and counted. */
    private void release() {
        Segment last = segment;

        segment = null;
        if (last != null)
            last.close();
    }

    private void tick() throws IOException {
        known.forgetOldEnds();
        if (needsNewFile() && (isDue() || !isBroken()))
            reopen();
        if (segment != null && list())
            segment.beat();
    }

    private boolean isDue() {
        return System.nanoTime() - triedNs >= AGAIN_NS;
    }

    private boolean isBroken() {
        return segment == null || !segment.isWhole();
    }

    private boolean needsNewFile() {
        return isBroken() || promisesTooMuch() || segment.grown() >= sizeMax || !segment.isThere();
    }

    /** It says that each beat follows a list of the pool, and nobody lists it any more. */
    private boolean promisesTooMuch() {
        return segment.isReported() && snapshots == null;
    }

    /**
     * Lists the pool; false: it cannot be listed now, so there must be no beat. A beat without a
     * list would say that the pool is empty.
     */
    private boolean list() {
        Supplier<Snapshot> s = snapshots;
        Snapshot snapshot;

        if (s == null)
            return !promisesTooMuch();
        snapshot = s.get();
        if (snapshot == null)
            return false;
        for (Record record : snapshot.records())
            write(record);
        // It may have been taken back meanwhile.
        return snapshots == s;
    }

    /** Begins a new file, says again in it what has to be known, and removes the one before. */
    private void reopen() {
        Segment old = segment;

        triedNs = System.nanoTime();
        try {
            segment = create();
            if (old != null) { // what is written to it yet is known already, and said again
                stale.add(old.path());
                old.close();
            }
            known.forgetTheDead();
            for (Record record : known.records())
                write(record);
            segment.begun();
            if (!segment.isLossy())
                stale.removeIf(Log::remove);
        } catch (IOException | RuntimeException e) {
            complain(e);
            if (old != null && misleads(old)) {
                remove(old.path());
                stale.removeIf(Log::remove);
            }
        }
    }

    /**
     * A `begin` may be missing in it, and with pool=none its `end` alone would be believed: better
     * no log. What the reader needs beats for, it does not believe without them.
     */
    private boolean misleads(Segment old) {
        return old.isLossy() && pool.equals(NONE);
    }

    private Segment create() throws IOException {
        int uid = Self.effectiveUid();
        Path place = Place.own(folder != null ? folder : Place.standard(System.getenv(), uid), uid);
        String who = Self.identity();
        String name = "host-" + who.replace(':', '-') + '-'
            + className.replaceAll("[^A-Za-z0-9._-]", "_") + '-' + count("file") + ".log";
        String promise = pool; // once: it may be taken back meanwhile
        byte[] host = hostRecord(who, promise, app).line();
        Segment s = new Segment(place.resolve(name), promise.equals(REPORTED), patienceNs, through);

        try {
            s.put(host != null ? host : hostRecord(who, promise, null).line());
            return s;
        } catch (IOException | RuntimeException e) {
            s.close();
            remove(s.path());
            throw e;
        }
    }

    private Record hostRecord(String who, String promise, String forPeople) throws IOException {
        return new Record("host").with("host", who).with("boot", Self.bootId())
            .with("pidns", Self.pidNamespace()).name("class", className).with("pool", promise)
            .with("tasks", tasks).with("pool_timeout", timeoutMs).name("app", forPeople);
    }

    private static boolean remove(Path path) {
        try {
            Files.deleteIfExists(path);
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    // A class loader of its own may load this class again, so what the JVM has to know of its logs
    // is in its properties.

    private String count(String what) {
        return System.getProperties().merge(PROPERTY + what + '.' + className, "1",
            (a, b) -> Integer.toString(Integer.parseInt((String) a) + 1)).toString();
    }

    /** The files of the logs of this class that were closed: nothing follows in them any more. */
    private List<Path> takeOver(String name) {
        Object paths = System.getProperties().remove(PROPERTY + "closed." + name);
        List<Path> list = new ArrayList<>();

        count("opened");
        if (paths != null)
            for (String path : paths.toString().split("\n"))
                list.add(Paths.get(path));
        return list;
    }

    /**
     * Ends the log. Its file stays, for people and for the tasks that it names; another log of
     * the class in this JVM takes its place.
     */
    @Override
    public void close() {
        Path path = path();

        closed = true;
        LockSupport.unpark(thread);
        if (path != null)
            System.getProperties().merge(PROPERTY + "closed." + className, path.toString(),
                (a, b) -> a + "\n" + b);
    }
}
