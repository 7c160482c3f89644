// SPDX-License-Identifier: Apache-2.0
package reaper.markers;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;

/**
 * Objects of a host and of its Scala library by name, so that one jar serves many versions of
 * both. For what listens to a host.
 */
public final class ByName {
    private ByName() {
    }

    /** A class that the thread sees that asks. */
    public static Class<?> type(String name) throws ClassNotFoundException {
        ClassLoader loader = Thread.currentThread().getContextClassLoader();

        return Class.forName(name, true, loader != null ? loader : ByName.class.getClassLoader());
    }

    /** A private field; one that an inner class uses has its class's name before its own. */
    public static Field field(Class<?> owner, String name) throws NoSuchFieldException {
        for (Field f : owner.getDeclaredFields())
            if (f.getName().equals(name) || f.getName().endsWith("$$" + name)) {
                f.setAccessible(true);
                return f;
            }
        throw new NoSuchFieldException(owner.getName() + "." + name);
    }

    /** What a private field of an object holds, its own or one of the classes that it extends. */
    public static Object get(Object object, String name) throws ReflectiveOperationException {
        for (Class<?> c = object.getClass(); c != null; c = c.getSuperclass())
            try {
                return field(c, name).get(object);
            } catch (NoSuchFieldException e) {
                continue;
            }
        throw new NoSuchFieldException(object.getClass().getName() + "." + name);
    }

    /** What a public method without parameters returns. */
    public static Object call(Object object, String name) throws ReflectiveOperationException {
        Method method = object.getClass().getMethod(name);

        method.setAccessible(true);
        return method.invoke(object);
    }

    /** What an Iterable holds. */
    public static List<Object> list(Object iterable) throws ReflectiveOperationException {
        return drain(call(iterable, "iterator"));
    }

    /** The values of a Map. */
    public static List<Object> values(Object map) throws ReflectiveOperationException {
        return drain(call(map, "valuesIterator"));
    }

    private static List<Object> drain(Object iterator) throws ReflectiveOperationException {
        List<Object> all = new ArrayList<>();
        Method hasNext = iterator.getClass().getMethod("hasNext");
        Method next = iterator.getClass().getMethod("next");

        hasNext.setAccessible(true); // the class of an iterator is seldom public
        next.setAccessible(true);
        while ((Boolean) hasNext.invoke(iterator))
            all.add(next.invoke(iterator));
        return all;
    }

    /** The first of a Tuple2. */
    public static Object first(Object pair) throws ReflectiveOperationException {
        return call(pair, "_1");
    }

    /** The second of a Tuple2. */
    public static Object second(Object pair) throws ReflectiveOperationException {
        return call(pair, "_2");
    }
}
