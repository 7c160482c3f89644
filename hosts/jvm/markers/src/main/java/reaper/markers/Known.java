// SPDX-License-Identifier: Apache-2.0
package reaper.markers;

import java.io.Closeable;
import java.io.IOException;
import java.lang.ref.WeakReference;
import java.net.Socket;
import java.nio.channels.Channel;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * What a new file of a log has to say again, since the one before it is removed: the tasks that
 * run, the ends that no reader may have read yet, the last task of each worker that still lives,
 * and who was given up. Whatever comes twice changes nothing for the reader.
 */
final class Known {
    /** A reader that looks at least so often misses no end. */
    static final long ENDS_KEPT_NS = TimeUnit.SECONDS.toNanos(60);
    static final int ENDS_MAX = 65536;

    /** One worker of a task: by name, or by the ports of a connection as long as that is open. */
    static final class Binding {
        private final String worker;
        private final WeakReference<Closeable> connection;
        private final int lport;
        private final int dport;

        Binding(String worker) {
            this.worker = worker;
            this.connection = null;
            this.lport = 0;
            this.dport = 0;
        }

        Binding(Closeable connection, int lport, int dport) {
            this.worker = null;
            this.connection = new WeakReference<>(connection);
            this.lport = lport;
            this.dport = dport;
        }

        Record addTo(Record begin) {
            if (worker != null)
                return begin.with("worker", worker);
            return begin.with("lport", Integer.toString(lport))
                .with("dport", Integer.toString(dport));
        }

        /** Ports of a connection that is closed may be another worker's by now. */
        boolean holds() {
            Closeable c = connection == null ? null : connection.get();

            if (worker != null)
                return true;
            if (c instanceof Socket)
                return !((Socket) c).isClosed();
            return c instanceof Channel && ((Channel) c).isOpen();
        }
    }

    private static final class Open {
        private final Task task;
        private final ConcurrentLinkedQueue<Binding> bindings = new ConcurrentLinkedQueue<>();

        Open(Task task) {
            this.task = task;
        }
    }

    private static final class End {
        private final Task task;
        private final long atNs = System.nanoTime();

        End(Task task) {
            this.task = task;
        }
    }

    private final Map<String, Open> open = new ConcurrentHashMap<>();
    private final ConcurrentLinkedQueue<End> ends = new ConcurrentLinkedQueue<>();
    private final AtomicInteger endCount = new AtomicInteger();
    private final Map<String, Task> lastTask = new ConcurrentHashMap<>();
    private final Map<String, Boolean> retired = new ConcurrentHashMap<>();

    private static String key(Task t) {
        return t.task() != null ? "t" + t.task() : "j" + t.job();
    }

    void begun(Task t) {
        open.put(key(t), new Open(t));
    }

    boolean isOpen(Task t) {
        return open.containsKey(key(t));
    }

    void bound(Task t, Binding b) {
        Open o = open.get(key(t));

        if (o != null)
            o.bindings.add(b);
        if (b.worker != null)
            lastTask.put(b.worker, t);
    }

    void ended(Task t) {
        open.remove(key(t));
        if (t.task() == null)
            open.values().removeIf(o -> t.job().equals(o.task.job()));
        ends.add(new End(t));
        if (endCount.incrementAndGet() > ENDS_MAX && ends.poll() != null)
            endCount.decrementAndGet();
    }

    void retired(String worker) {
        retired.put(worker, true);
    }

    /** Forgets the ends that every reader has read by now. */
    void forgetOldEnds() {
        long now = System.nanoTime();

        for (End e = ends.peek(); e != null && now - e.atNs > ENDS_KEPT_NS; e = ends.peek()) {
            if (ends.poll() != null)
                endCount.decrementAndGet();
        }
    }

    /** Forgets the workers that are no more. */
    void forgetTheDead() {
        lastTask.keySet().removeIf(w -> !lives(w));
        retired.keySet().removeIf(w -> !lives(w));
    }

    private static boolean lives(String worker) {
        try {
            return Self.identity(Long.parseLong(worker.substring(0, worker.indexOf(':'))))
                .equals(worker);
        } catch (IOException | RuntimeException e) {
            return false;
        }
    }

    /** Begins before ends: a reader that knows nothing of a task learns its workers from them. */
    List<Record> records() {
        List<Record> all = new ArrayList<>();

        for (Open o : open.values())
            addOpen(all, o);
        for (Map.Entry<String, Task> e : lastTask.entrySet())
            if (!isOpen(e.getValue())) {
                all.add(e.getValue().beginRecord().with("worker", e.getKey()));
                all.add(endRecord(e.getValue()));
            }
        for (Iterator<End> i = ends.iterator(); i.hasNext();)
            all.add(endRecord(i.next().task));
        for (String worker : retired.keySet())
            all.add(new Record("retired").with("worker", worker));
        return all;
    }

    private static void addOpen(List<Record> all, Open o) {
        all.add(o.task.beginRecord());
        for (Binding b : o.bindings)
            if (b.holds())
                all.add(b.addTo(o.task.beginRecord()));
    }

    static Record endRecord(Task t) {
        Record end = new Record("end");

        if (t.task() != null)
            end.name("task", t.task());
        else
            end.name("job", t.job());
        return end.name("outcome", Record.cut(t.outcome()));
    }
}
