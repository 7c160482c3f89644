// SPDX-License-Identifier: Apache-2.0
package reaper.pyjava;

import java.net.Socket;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import reaper.markers.Snapshot;

/**
 * Looks at pyjava's contexts and pools again and again, and tells which workers were given up.
 *
 * A context is given up when its task is over for five seconds (a host that does it right closes
 * it at the end of the task), it was not completed, and its flag says that its worker was neither
 * released nor closed: then nobody but the context's own monitor thread holds the worker. (Of a
 * completed context the monitor thread lingers for two seconds, and one that hangs in close() is
 * completed as well.)
 *
 * Which task opened a context:
 * <ul>
 * <li>the one that was begun with this context;
 * <li>else the job that the runner's configuration names;
 * <li>else, if the host brackets all its tasks, any of those that ran when the context was
 *     opened, so all of them have to be over. If none ran, nothing is known of it, and it is
 *     never given up.
 * </ul>
 */
final class Watch {
    private static final long OVER_NS = TimeUnit.SECONDS.toNanos(5);

    /** What is remembered of a context; refers to no part of it. */
    private static final class Memory {
        private final List<Bracket> brackets;
        private AtomicBoolean released;

        Memory(List<Bracket> brackets) {
            this.brackets = brackets;
        }

        boolean isOver(long forNs) {
            return !brackets.isEmpty()
                && brackets.stream().allMatch(b -> !b.isRunning() && b.sinceEndNs() >= forNs);
        }
    }

    private final Brackets brackets;
    private final long overNs;
    private final Pools pools = new Pools();
    private final Map<Thread, Memory> memories = new WeakHashMap<>();
    private final Set<Socket> retired = Collections.newSetFromMap(new WeakHashMap<>());
    private volatile boolean bracketsAll = true;

    Watch(Brackets brackets) {
        this(brackets, OVER_NS);
    }

    Watch(Brackets brackets, long overNs) {
        this.brackets = brackets;
        this.overNs = overNs;
    }

    /** Some contexts are opened outside of every task that is told of. */
    void bracketsSome() {
        bracketsAll = false;
    }

    /**
     * Lists the pools; null: there is no pyjava (yet).
     *
     * @param giveUp takes the name of each worker that was given up, once.
     */
    Snapshot look(Consumer<String> giveUp) throws ReflectiveOperationException {
        int old = brackets.ended();
        List<Context> contexts = contexts();

        brackets.forget(old); // whatever they opened has been seen now
        if (pools.isEmpty())
            return null;
        return list(pools.workers(), abandoned(contexts), giveUp);
    }

    private List<Context> contexts() throws ReflectiveOperationException {
        List<Context> all = new ArrayList<>();

        pools.find();
        for (Thread thread : Context.threads()) {
            Context c = Context.of(thread);
            pools.find(thread);
            if (c == null)
                continue;
            all.add(c);
            if (!memories.containsKey(thread))
                remember(c);
        }
        return all;
    }

    private void remember(Context c) throws ReflectiveOperationException {
        Memory m = new Memory(bracketsOf(c));

        memories.put(c.thread(), m);
        if (m.brackets.size() == 1 && m.brackets.get(0).isRunning())
            m.brackets.get(0).marker().bind(c.worker());
    }

    private List<Bracket> bracketsOf(Context c) throws ReflectiveOperationException {
        List<Bracket> found = brackets.find(b -> b.isOf(c.javaContext()));
        String group = found.isEmpty() ? c.group() : null;

        if (group != null)
            found = brackets.find(b -> group.equals(b.job) && b.ranWhenStarted(c.thread()));
        if (found.isEmpty() && bracketsAll)
            found = brackets.find(b -> b.ranWhenStarted(c.thread()));
        return found;
    }

    /** The workers of contexts that are over and hold theirs still. */
    private Map<Socket, Context> abandoned(List<Context> contexts)
        throws ReflectiveOperationException {
        Map<Socket, Context> found = new HashMap<>();

        for (Context c : contexts) {
            Memory m = memories.get(c.thread());
            if (m.isOver(overNs) && !c.isCompleted() && holds(m, c))
                found.put(c.worker(), c);
        }
        return found;
    }

    private static boolean holds(Memory m, Context c) throws ReflectiveOperationException {
        if (m.released == null)
            m.released = c.releasedOrClosed(); // whose list nobody changes any more: it is over
        return m.released != null && !m.released.get();
    }

    private Snapshot list(List<Pools.Worker> workers, Map<Socket, Context> abandoned,
        Consumer<String> giveUp) {
        Snapshot snapshot = new Snapshot();

        for (Pools.Worker w : workers) {
            if (!w.idle && abandoned.containsKey(w.socket) && retired.add(w.socket))
                giveUp.accept(w.name);
            if (w.idle)
                snapshot.pooled(w.name);
            else if (!retired.contains(w.socket))
                snapshot.leased(w.name, null);
        }
        return snapshot;
    }
}
