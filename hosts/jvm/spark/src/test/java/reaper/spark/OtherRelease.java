// SPDX-License-Identifier: Apache-2.0
package reaper.spark;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;

/** Loads the stand-ins of a release that has another name for one thing of Spark's. */
final class OtherRelease extends ClassLoader {
    private final String name;

    private OtherRelease(String name) {
        super(OtherRelease.class.getClassLoader());
        this.name = name;
    }

    /** Does something with a Spark that does not have that name. */
    static void without(String name, Runnable what) {
        Thread self = Thread.currentThread();
        ClassLoader before = self.getContextClassLoader();

        self.setContextClassLoader(new OtherRelease(name));
        try {
            what.run();
        } finally {
            self.setContextClassLoader(before);
        }
    }

    @Override
    protected Class<?> loadClass(String type, boolean resolve) throws ClassNotFoundException {
        synchronized (getClassLoadingLock(type)) {
            Class<?> known = findLoadedClass(type);

            if (known != null || !type.startsWith("org.apache.spark."))
                return known != null ? known : super.loadClass(type, resolve);
            try (InputStream in = getResourceAsStream(type.replace('.', '/') + ".class")) {
                byte[] bytes = renamed(in.readAllBytes());
                return defineClass(type, bytes, 0, bytes.length);
            } catch (IOException e) {
                throw new ClassNotFoundException(type, e);
            }
        }
    }

    /** Of the same length, so that nothing else in the class moves. */
    private byte[] renamed(byte[] bytes) {
        return new String(bytes, StandardCharsets.ISO_8859_1)
            .replace(name, name.toUpperCase()).getBytes(StandardCharsets.ISO_8859_1);
    }
}
