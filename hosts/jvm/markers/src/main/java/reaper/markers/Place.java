// SPDX-License-Identifier: Apache-2.0
package reaper.markers;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;

/**
 * Where logs go: REAPER_MARKER_DIR; else /run/reaper/markers where that exists; else, for a user
 * other than root, $XDG_RUNTIME_DIR/reaper/markers or ~/.local/state/reaper/run/markers, as
 * reaper's own defaults are. reaper_markers.py has the same.
 */
final class Place {
    private static final Path SYSTEM = Paths.get("/run/reaper/markers");
    private static final int OTHERS_MAY_WRITE = 022;

    private Place() {
    }

    static Path standard(Map<String, String> env, int uid) {
        String named = env.get("REAPER_MARKER_DIR");
        String run = env.get("XDG_RUNTIME_DIR");
        String home = env.getOrDefault("HOME", System.getProperty("user.home"));

        if (named != null && !named.isEmpty())
            return Paths.get(named);
        if (uid == 0 || Files.isDirectory(SYSTEM))
            return SYSTEM;
        if (run != null && !run.isEmpty())
            return Paths.get(run, "reaper", "markers");
        return Paths.get(home, ".local/state/reaper/run/markers");
    }

    /**
     * The folder, made if it is missing; or a directory of this user's own in it where it is not
     * this user's or others may write it, as in /tmp: reaper believes no other.
     */
    static Path own(Path folder, int uid) throws IOException {
        Files.createDirectories(folder, PosixFilePermissions.asFileAttribute(
            PosixFilePermissions.fromString("rwxr-xr-x")));
        if (isOwn(folder, uid))
            return folder;
        Path mine = folder.resolve("user-" + Integer.toUnsignedString(uid));
        try {
            Files.createDirectory(mine);
            // Whatever the umask is.
            Files.setPosixFilePermissions(mine, PosixFilePermissions.fromString("rwxr-xr-x"));
        } catch (FileAlreadyExistsException e) {
            // An earlier log of this user made it.
        }
        return mine;
    }

    private static boolean isOwn(Path folder, int uid) throws IOException {
        int owner = (Integer) Files.getAttribute(folder, "unix:uid");
        int mode = (Integer) Files.getAttribute(folder, "unix:mode");

        return owner == uid && (mode & OTHERS_MAY_WRITE) == 0;
    }
}
