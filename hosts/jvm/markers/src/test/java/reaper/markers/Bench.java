// SPDX-License-Identifier: Apache-2.0
package reaper.markers;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Prints what a record costs the thread that writes it.
 *
 * <pre>java -cp ...:test-classes reaper.markers.Bench [FOLDER [THREADS...]]</pre>
 */
public final class Bench {
    private static final int WARM_UP = 20_000;
    private static final int RECORDS = 100_000;
    private static final int TARGET_NS = 20_000;

    private Bench() {
    }

    public static void main(String[] args) throws Exception {
        Path folder = args.length > 0 ? Paths.get(args[0]) : Files.createTempDirectory("reaper-bench");
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

    /** Each thread begins and ends tasks; what counts is the time that passes for a thread. */
    private static boolean run(Log log, String what, int threads, int records) throws Exception {
        CountDownLatch done = new CountDownLatch(threads);
        long began = System.nanoTime(), each;

        for (int i = 0; i < threads; i++) {
            int mine = i;
            new Thread(() -> {
                for (int j = 0; j < records / 2; j++)
                    log.begin(what + threads + '.' + mine + '.' + j, null).close();
                done.countDown();
            }).start();
        }
        done.await();
        each = (System.nanoTime() - began) / records;
        System.out.printf("%s: %d threads, %d records each: %.2f us per record (target: %d us)%n",
            what, threads, records, each / 1000.0, TimeUnit.NANOSECONDS.toMicros(TARGET_NS));
        return each < TARGET_NS;
    }
}
