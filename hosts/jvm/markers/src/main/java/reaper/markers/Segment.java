// SPDX-License-Identifier: Apache-2.0
package reaper.markers;

import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.UnaryOperator;

/**
 * One file of a log, and how many records it has since its last beat. Any thread may put records;
 * one, the log's own, beats and closes.
 *
 * No thread that puts a record waits for another, but for a beat: that needs the file alone, since
 * its `n` is the number of records before it. It begins when nobody writes. Who comes while it is
 * written gives it some milliseconds, and then writes without: nobody knows then whether that
 * record stands before the beat or behind it, so from there on no beat is to be believed, and a new
 * file has to be begun.
 *
 * Written by FileOutputStream: in append mode its write(byte[]) of up to 8 KiB is one write(2),
 * and no interruption reaches it. (A FileChannel is closed for good when a thread that writes is
 * interrupted, and hosts interrupt their tasks.)
 */
final class Segment {
    private static final int BEATING = 1 << 30;
    private static final int CLOSED = Integer.MIN_VALUE;
    /** How long a beat waits for a moment at which nobody writes. */
    private static final long GAP_NS = TimeUnit.MILLISECONDS.toNanos(500);
    private static final int SPINS = 1000;
    private static final long PAUSE_NS = TimeUnit.MICROSECONDS.toNanos(20);
    /** The number in a beat that is not to be believed: no log has so many records. */
    private static final long NO_COUNT = Long.MAX_VALUE;

    private final Path path;
    private final Object key;
    private final OutputStream out;
    private final boolean reported;
    private final long patienceNs;
    private final AtomicInteger writers = new AtomicInteger(); // who write now; BEATING; CLOSED
    private final AtomicLong bytes = new AtomicLong();
    private final AtomicLong sinceBeat = new AtomicLong();
    private final AtomicBoolean torn = new AtomicBoolean();
    private volatile boolean lossy; // a record was lost
    private volatile boolean doubted; // one stands nobody knows on which side of a beat
    private volatile long said; // bytes of what was said again when it was new

    /**
     * @param patienceNs	how long a record waits for a beat
     * @param through	wraps what is written to
     */
    Segment(Path path, boolean reported, long patienceNs, UnaryOperator<OutputStream> through)
        throws IOException {
        this.path = path;
        this.reported = reported;
        this.patienceNs = patienceNs;
        Files.createFile(path, PosixFilePermissions.asFileAttribute(
            PosixFilePermissions.fromString("rw-r--r--")));
        try {
            // Whatever the umask is.
            Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rw-r--r--"));
            key = keyOf(path);
            out = through.apply(new FileOutputStream(path.toFile(), true));
        } catch (IOException e) {
            Files.deleteIfExists(path);
            throw e;
        }
    }

    private static Object keyOf(Path path) throws IOException {
        return Files.readAttributes(path, BasicFileAttributes.class).fileKey();
    }

    /**
     * Appends a record; false: the file is closed. Where it is lost no beat counts any more, and
     * that the reader sees in its number.
     */
    boolean put(byte[] record) throws IOException {
        int state = enter();

        if (state < 0)
            return false;
        try {
            if (isBeating(state))
                doubted = true;
            else
                sinceBeat.incrementAndGet();
            if (record == null)
                throw new IOException("a record is too long");
            write(record);
            return true;
        } catch (IOException | RuntimeException | Error e) {
            lossy = true;
            throw e;
        } finally {
            leave();
        }
    }

    private static boolean isBeating(int state) {
        return (state & BEATING) != 0;
    }

    /** Begins to write, unless the file is closed; returns what it was before. */
    private int enter() {
        long began = System.nanoTime();

        for (int i = 0;; i++) {
            int state = writers.get();
            boolean waits = isBeating(state) && System.nanoTime() - began < patienceNs;

            if (state < 0 || !waits && writers.compareAndSet(state, state + 1))
                return state;
            if (waits)
                pause(i);
        }
    }

    private void leave() {
        if (writers.decrementAndGet() == CLOSED)
            closeFile();
    }

    private static void pause(int turn) {
        if (turn < SPINS)
            Thread.onSpinWait();
        else
            LockSupport.parkNanos(PAUSE_NS);
    }

    /**
     * Appends the beat that closes what was written since the last, unless writers leave it no
     * room: there is a next time.
     */
    void beat() throws IOException {
        if (!hold())
            return;
        try {
            long n = isWhole() ? sinceBeat.getAndSet(0) : NO_COUNT;

            write(new Record("beat").with("n", Long.toString(n)).line());
        } catch (IOException | RuntimeException | Error e) {
            lossy = true;
            throw e;
        } finally {
            writers.addAndGet(-BEATING);
        }
    }

    /** Waits for a moment at which nobody writes, and asks others to wait from then on. */
    private boolean hold() {
        long began = System.nanoTime();

        for (int i = 0; !writers.compareAndSet(0, BEATING); i++) {
            if (System.nanoTime() - began >= GAP_NS)
                return insist();
            pause(i);
        }
        return true;
    }

    /** They leave none: asks new ones to wait until those that write are through, but not long. */
    private boolean insist() {
        long began = System.nanoTime();

        writers.addAndGet(BEATING);
        for (int i = 0; writers.get() != BEATING; i++) {
            if (System.nanoTime() - began >= patienceNs / 10) {
                writers.addAndGet(-BEATING);
                return false;
            }
            pause(i);
        }
        return true;
    }

    private void write(byte[] record) throws IOException {
        byte[] line = record;

        // What a full disk cut short must not swallow the next record.
        if (torn.get() && torn.getAndSet(false)) {
            line = new byte[record.length + 1];
            line[0] = '\n';
            System.arraycopy(record, 0, line, 1, record.length);
        }
        try {
            out.write(line);
            bytes.addAndGet(line.length);
        } catch (IOException e) {
            torn.set(true);
            throw e;
        }
    }

    /** Says that what it has so far had to be said: a file that begins long may still grow. */
    void begun() {
        said = bytes.get();
    }

    long grown() {
        return bytes.get() - said;
    }

    /** A record was lost. */
    boolean isLossy() {
        return lossy;
    }

    /** Its beats are to be believed. Once they are not, nothing but a new file helps. */
    boolean isWhole() {
        return !lossy && !doubted;
    }

    /** A record for it could not even be made. */
    void lose() {
        lossy = true;
    }

    /** Its first record says pool=reported: each beat says that the pool was listed before it. */
    boolean isReported() {
        return reported;
    }

    /** Its name still leads to it; a cleaner of old files may have removed it. */
    boolean isThere() {
        try {
            return key == null || key.equals(keyOf(path));
        } catch (NoSuchFileException e) {
            return false;
        } catch (IOException e) {
            return true;
        }
    }

    Path path() {
        return path;
    }

    /** Takes no more records. The last that is written now closes the file: nobody is cut off. */
    void close() {
        if (writers.getAndUpdate(state -> state | CLOSED) == 0)
            closeFile();
    }

    private void closeFile() {
        try {
            out.close();
        } catch (IOException e) {
            // Nothing is buffered, so nothing is lost.
        }
    }
}
