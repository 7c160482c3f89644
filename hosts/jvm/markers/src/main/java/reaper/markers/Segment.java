// SPDX-License-Identifier: Apache-2.0
package reaper.markers;

import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

/**
 * One file of a log, and how many records it has since its last beat.
 *
 * Written by FileOutputStream: in append mode its write(byte[]) of up to 8 KiB is one write(2),
 * and no interruption reaches it. (A FileChannel is closed for good when a thread that writes is
 * interrupted, and hosts interrupt their tasks.)
 */
final class Segment {
    private final Path path;
    private final Object key;
    private final FileOutputStream out;
    private final boolean reported;
    private final AtomicLong bytes = new AtomicLong();
    private final AtomicLong sinceBeat = new AtomicLong();
    private final AtomicBoolean torn = new AtomicBoolean();
    private volatile boolean lossy;
    private volatile long said; // bytes of what was said again when it was new

    Segment(Path path, boolean reported) throws IOException {
        this.path = path;
        this.reported = reported;
        Files.createFile(path, PosixFilePermissions.asFileAttribute(
            PosixFilePermissions.fromString("rw-r--r--")));
        try {
            // Whatever the umask is.
            Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rw-r--r--"));
            key = keyOf(path);
            out = new FileOutputStream(path.toFile(), true);
        } catch (IOException e) {
            Files.deleteIfExists(path);
            throw e;
        }
    }

    private static Object keyOf(Path path) throws IOException {
        return Files.readAttributes(path, BasicFileAttributes.class).fileKey();
    }

    /**
     * Appends a record. It is counted before anything can fail: where the number in a beat is not
     * the number that was read, the reader knows that some were lost.
     */
    void put(byte[] record) throws IOException {
        sinceBeat.incrementAndGet();
        if (record == null) {
            lossy = true;
            throw new IOException("a record is too long");
        }
        write(record);
    }

    /**
     * Appends the beat that closes what was written since the last; nobody else may write
     * meanwhile.
     */
    void beat() throws IOException {
        long n = sinceBeat.get();

        try {
            write(new Record("beat").with("n", Long.toString(n)).line());
            sinceBeat.set(0);
        } catch (IOException e) {
            sinceBeat.incrementAndGet();
            throw e;
        }
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
            lossy = true;
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

    /** A record of it was lost: nothing but a new file makes it whole. */
    boolean isLossy() {
        return lossy;
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

    void close() {
        try {
            out.close();
        } catch (IOException e) {
            // Nothing is buffered, so nothing is lost.
        }
    }
}
