// SPDX-License-Identifier: Apache-2.0
package reaper.pyjava;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/** The tasks and jobs that run, and those that ended lately. */
final class Brackets {
    private static final int ENDED_MAX = 65536; // while nobody can look at what they opened

    private final Map<String, Bracket> running = new ConcurrentHashMap<>();
    private final ConcurrentLinkedQueue<Bracket> ended = new ConcurrentLinkedQueue<>();
    private final AtomicInteger endedCount = new AtomicInteger();

    private static String key(String task, String job) {
        return task != null ? "t" + task : "j" + job;
    }

    void add(Bracket b) {
        running.put(key(b.task, b.job), b);
    }

    /** Ends one; null: none of that name runs. */
    Bracket end(String task, String job) {
        String key = key(task, job);
        Bracket b = running.get(key);

        if (b != null) {
            b.end();
            ended.add(b); // before it leaves the others, see find()
            running.remove(key, b);
            if (endedCount.incrementAndGet() > ENDED_MAX)
                forgetOne();
        }
        return b;
    }

    /** Ends the job and the tasks that were begun with it. */
    void endJob(String job) {
        for (Bracket b : running.values())
            if (job.equals(b.job))
                end(b.task, b.job);
    }

    /** How many have ended so far, to be given to forget(). */
    int ended() {
        return endedCount.get();
    }

    /** Forgets the oldest of those that have ended. */
    void forget(int count) {
        for (int i = 0; i < count; i++)
            forgetOne();
    }

    private void forgetOne() {
        if (ended.poll() != null)
            endedCount.decrementAndGet();
    }

    List<Bracket> find(Predicate<Bracket> wanted) {
        List<Bracket> all = new ArrayList<>(running.values());

        all.addAll(ended); // in this order: one that ends meanwhile may come twice, not be missed
        return all.stream().filter(wanted).distinct().collect(Collectors.toList());
    }
}
