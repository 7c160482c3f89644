// SPDX-License-Identifier: Apache-2.0
package reaper.markers;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Prints what a record costs the thread that writes it.
 *
 * <pre>java -cp ...:test-classes reaper.markers.Bench [FOLDER [THREADS...]]</pre>
 */
public final class Bench {
    private static final int WARM_UP = 20_000;
    private static final int RECORDS = 100_000;
    private static final int TARGET_US = 20;

    private Bench() {
    }

    public static void main(String[] args) throws Exception {
        Path folder = args.length > 0 ? Paths.get(args[0])
            : Files.createTempDirectory("reaper-bench");
        boolean met = true;

        if (args.length < 2)
            args = new String[] { "", "1", "4" };
        try (Log log = Log.of("bench").folder(folder).reports(Snapshot::new).open()) {
            run(log, "warm-up", 1, WARM_UP);
            for (int i = 1; i < args.length; i++)
                met &= run(log, "measured", Integer.parseInt(args[i]), RECORDS);
            System.out.println(log.failures() + " records lost");
            met &= log.failures() == 0;
        }
        System.exit(met ? 0 : 1);
    }

    /** Each thread begins and ends tasks; the target is for the processor time of a record. */
    private static boolean run(Log log, String what, int threads, int records) throws Exception {
        ThreadMXBean clock = ManagementFactory.getThreadMXBean();
        CountDownLatch done = new CountDownLatch(threads);
        AtomicLong cpu = new AtomicLong();
        long began = System.nanoTime();

        for (int i = 0; i < threads; i++) {
            int mine = i;
            new Thread(() -> {
                for (int j = 0; j < records / 2; j++)
                    log.begin(what + threads + '.' + mine + '.' + j, null).close();
                cpu.addAndGet(clock.getCurrentThreadCpuTime());
                done.countDown();
            }).start();
        }
        done.await();
        double passed = (System.nanoTime() - began) / 1e3 / records;
        double used = cpu.get() / 1e3 / threads / records;
        System.out.printf("%s: %d threads, %d records each: %.2f us of processor, %.2f us passed"
            + " per record (target: %d us)%n", what, threads, records, used, passed, TARGET_US);
        return used < TARGET_US;
    }
}
