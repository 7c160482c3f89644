// SPDX-License-Identifier: Apache-2.0
package reaper.markers;

import java.nio.charset.StandardCharsets;

/** One line of a log: an event and its members, percent-encoded, at most 512 bytes. */
final class Record {
    static final int MAX = 512;
    static final int NAME_MAX = 64;

    private static final boolean[] PLAIN = new boolean[128];
    private static final char[] HEX = "0123456789ABCDEF".toCharArray();

    static {
        for (char c = 'a'; c <= 'z'; c++)
            PLAIN[c] = PLAIN[Character.toUpperCase(c)] = true;
        for (char c : "0123456789._:/@+-".toCharArray())
            PLAIN[c] = true;
    }

    private final StringBuilder text = new StringBuilder(128);
    private boolean bad;

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

    /** Adds a name; the reader takes 1 to 64 bytes. */
    Record name(String key, String value) {
        if (value == null)
            return this;
        // Cut, two tasks could become one; left out, a begin and its end would not meet.
        bad |= value.isEmpty() || value.indexOf('\0') >= 0 || length(value) > NAME_MAX;
        return with(key, value);
    }

    /** The whole line, with the time of now; null: it cannot be written as a record. */
    byte[] line() {
        String line = "reaper/1 " + System.currentTimeMillis() + ' ' + text + '\n';

        return bad || line.length() > MAX ? null : line.getBytes(StandardCharsets.ISO_8859_1);
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
