// SPDX-License-Identifier: Apache-2.0
package reaper.markers;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.regex.Pattern;

/** One line of a log: an event and its members, percent-encoded, at most 512 bytes. */
final class Record {
    static final int MAX = 512;
    static final int NAME_MAX = 64;
    private static final int DIGEST_BYTES = 16;

    private static final boolean[] PLAIN = new boolean[128];
    private static final char[] HEX = "0123456789ABCDEF".toCharArray();

    static {
        for (char c = 'a'; c <= 'z'; c++)
            PLAIN[c] = PLAIN[Character.toUpperCase(c)] = true;
        for (char c : "0123456789._:/@+-".toCharArray())
            PLAIN[c] = true;
    }

    private static final Pattern WORKER = Pattern.compile("[1-9][0-9]{0,6}:[0-9]{1,19}");

    private final StringBuilder text = new StringBuilder(128);

    Record(String event) {
        text.append(event);
    }

    /** Adds a member; null adds nothing. */
    Record with(String key, String value) {
        if (value == null)
            return this;
        text.append(' ').append(key).append('=');
        if (isPlain(value))
            text.append(value);
        else
            encode(value);
        return this;
    }

    /** Adds a name; null adds nothing. */
    Record name(String key, String value) {
        return with(key, value == null || fits(value) ? value : digest(value));
    }

    /** The whole line, with the time of now; null: it is too long. */
    byte[] line() {
        String line = "reaper/1 " + System.currentTimeMillis() + ' ' + text + '\n';

        return line.length() > MAX ? null : line.getBytes(StandardCharsets.ISO_8859_1);
    }

    /** The reader takes 1 to 64 bytes, and no NUL. */
    private static boolean fits(String value) {
        return !value.isEmpty() && value.indexOf('\0') < 0 && length(value) <= NAME_MAX;
    }

    /**
     * A name that the reader takes in place of one that it does not. A task that is not named at
     * all would run unseen; of names that are cut, two could become one.
     */
    private static String digest(String value) {
        try {
            byte[] hash = MessageDigest.getInstance("SHA-256")
                .digest(value.getBytes(StandardCharsets.UTF_8));
            StringBuilder name = new StringBuilder("sha256:");
            for (int i = 0; i < DIGEST_BYTES; i++)
                name.append(HEX[hash[i] >> 4 & 15]).append(HEX[hash[i] & 15]);
            return name.toString();
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e); // every Java has it
        }
    }

    /** Tells whether a text names a process as records do: PID:START. */
    static boolean isWorker(String text) {
        return text != null && WORKER.matcher(text).matches();
    }

    /** The beginning of a text that fits into a name; null if nothing is left. */
    static String cut(String value) {
        String cut = value;

        while (cut != null && length(cut) > NAME_MAX)
            cut = cut.substring(0, cut.offsetByCodePoints(cut.length(), -1));
        return cut == null || cut.isEmpty() ? null : cut;
    }

    private static int length(String value) {
        // A character is at most three bytes of UTF-8.
        return value.length() * 3 <= NAME_MAX ? value.length()
            : value.getBytes(StandardCharsets.UTF_8).length;
    }

    private static boolean isPlain(String value) {
        for (int i = 0; i < value.length(); i++)
            if (value.charAt(i) >= PLAIN.length || !PLAIN[value.charAt(i)])
                return false;
        return true;
    }

    private void encode(String value) {
        for (byte b : value.getBytes(StandardCharsets.UTF_8))
            if (b >= 0 && PLAIN[b])
                text.append((char) b);
            else
                text.append('%').append(HEX[b >> 4 & 15]).append(HEX[b & 15]);
    }
}
