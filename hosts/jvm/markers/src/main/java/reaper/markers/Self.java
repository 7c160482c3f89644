// SPDX-License-Identifier: Apache-2.0
package reaper.markers;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;

/** What /proc says of this process and of others, as records name it. */
final class Self {
    private static final int START_FIELD = 22;
    private static final int FIRST_BEHIND_NAME = 3;

    private Self() {
    }

    /** This process as records name it: PID:START, its number in its own pid namespace. */
    static String identity() throws IOException {
        return identityOf("self");
    }

    /** A process as records name it; fails if there is none. */
    static String identity(long pid) throws IOException {
        return identityOf(Long.toString(pid));
    }

    private static String identityOf(String name) throws IOException {
        String stat = read(Paths.get("/proc", name, "stat"));
        String pid = stat.substring(0, stat.indexOf(' '));
        // A name may hold blanks and parentheses, so fields are counted from the last one.
        String[] behind = stat.substring(stat.lastIndexOf(')') + 2).split(" ");

        return pid + ":" + behind[START_FIELD - FIRST_BEHIND_NAME];
    }

    static String bootId() throws IOException {
        return read(Paths.get("/proc/sys/kernel/random/boot_id")).trim();
    }

    /** The inode of this process's pid namespace. */
    static String pidNamespace() throws IOException {
        String link = Files.readSymbolicLink(Paths.get("/proc/self/ns/pid")).toString();

        return link.substring(link.indexOf('[') + 1, link.indexOf(']'));
    }

    static int effectiveUid() throws IOException {
        for (String line : read(Paths.get("/proc/self/status")).split("\n"))
            if (line.startsWith("Uid:"))
                return Integer.parseUnsignedInt(line.split("\\s+")[2]);
        throw new IOException("/proc/self/status has no Uid");
    }

    private static String read(Path path) throws IOException {
        return new String(Files.readAllBytes(path), StandardCharsets.ISO_8859_1);
    }
}
