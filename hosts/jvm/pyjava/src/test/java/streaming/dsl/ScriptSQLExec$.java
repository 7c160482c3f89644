// SPDX-License-Identifier: Apache-2.0
package streaming.dsl;

import scala.collection.mutable.HashMap;

/** A stand-in for the engine's object ScriptSQLExec: what its listeners ask for streams. */
public final class ScriptSQLExec$ {
    public static final ScriptSQLExec$ MODULE$ = new ScriptSQLExec$();

    private final ThreadLocal<HashMap<String, String>> env =
        ThreadLocal.withInitial(HashMap::new);

    private ScriptSQLExec$() {
    }

    public ScriptSQLExec$ contextGetOrForTest() {
        return this;
    }

    public ScriptSQLExec$ execListener() {
        return this;
    }

    public HashMap<String, String> env() {
        return env.get();
    }
}
