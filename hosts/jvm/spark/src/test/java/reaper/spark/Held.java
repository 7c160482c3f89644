// SPDX-License-Identifier: Apache-2.0
package reaper.spark;

import java.util.Iterator;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

/** What is asked of Scala's collections; it notices who reads it without the lock of its owner. */
final class Held {
    private final List<?> all;
    private final AtomicBoolean unlocked = new AtomicBoolean();
    volatile Object owner;

    Held(Object... all) {
        this.all = List.of(all);
    }

    private void look() {
        if (owner != null && !Thread.holdsLock(owner))
            unlocked.set(true);
    }

    boolean wasReadUnlocked() {
        return unlocked.get();
    }

    public Iterator<Object> iterator() {
        Iterator<?> next = all.iterator();

        return new Iterator<>() {
            @Override
            public boolean hasNext() {
                look();
                return next.hasNext();
            }

            @Override
            public Object next() {
                Object o = next.next();

                look();
                if (o instanceof RuntimeException)
                    throw (RuntimeException) o;
                return o;
            }
        };
    }

    public Iterator<Object> valuesIterator() {
        return iterator();
    }
}
