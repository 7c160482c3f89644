// SPDX-License-Identifier: Apache-2.0
package reaper.markers;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PlaceTest {
    @TempDir
    Path folder;

    private static String mode(Path path) throws Exception {
        return PosixFilePermissions.toString(Files.getPosixFilePermissions(path));
    }

    @Test
    void isWhereTheEnvironmentSays() {
        assertEquals(Paths.get("/x"), Place.standard(Map.of("REAPER_MARKER_DIR", "/x"), 0));
        assertEquals(Paths.get("/run/reaper/markers"), Place.standard(Map.of(), 0));
    }

    @Test
    void isInTheUsersOwnPlacesOtherwise() {
        if (Files.isDirectory(Paths.get("/run/reaper/markers")))
            return;
        assertEquals(Paths.get("/r/reaper/markers"),
            Place.standard(Map.of("XDG_RUNTIME_DIR", "/r", "HOME", "/h"), 1000));
        assertEquals(Paths.get("/h/.local/state/reaper/run/markers"),
            Place.standard(Map.of("HOME", "/h"), 1000));
    }

    @Test
    void isMadeWhereItIsMissing() throws Exception {
        Path made = folder.resolve("a/b");

        assertEquals(made, Place.own(made, Self.effectiveUid()));
        assertEquals("rwxr-xr-x", mode(made));
    }

    @Test
    void isADirectoryOfItsOwnWhereOthersMayWrite() throws Exception {
        int uid = Self.effectiveUid();

        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxrwxrwx"));
        assertEquals(folder.resolve("user-" + uid), Place.own(folder, uid));
        assertEquals("rwxr-xr-x", mode(folder.resolve("user-" + uid)));
        assertEquals(folder.resolve("user-" + uid), Place.own(folder, uid));
    }

    @Test
    void isADirectoryOfItsOwnWhereItIsSomebodyElses() throws Exception {
        int uid = Self.effectiveUid();

        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
        assertEquals(folder, Place.own(folder, uid));
        assertEquals(folder.resolve("user-" + (uid + 1)), Place.own(folder, uid + 1));
    }
}
