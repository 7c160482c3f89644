// SPDX-License-Identifier: Apache-2.0
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Tuple2;
import scala.collection.JavaConverters;
import tech.mlsql.arrow.python.iapp.AppContextImpl;
import tech.mlsql.arrow.python.iapp.JavaContext;
import tech.mlsql.arrow.python.runner.ArrowPythonRunner;
import tech.mlsql.arrow.python.runner.ChainedPythonFunctions;
import tech.mlsql.arrow.python.runner.PythonFunction;

/**
 * A host that runs tasks by pyjava's own classes, as an engine's driver does, one thread each. It
 * takes commands on standard input and answers on standard output, one JSON object per line:
 *
 * <pre>
 * {"do": "begin", "label": L, "more": {...}}  -> {}      see Task for what may be in it
 * {"do": "end", "label": L, "wait": SECONDS}  -> {"done": true, "value": [...], "failed": null}
 * {"do": "open", "gate": NAME}                -> {}
 * </pre>
 *
 * With the class reaper.pyjava.Observer on the class path (or the one that the property `observer`
 * names) it is started, and told of each task.
 * End of file on standard input ends the JVM.
 */
public final class Driver {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final StructType ROW = new StructType().add("value", DataTypes.StringType);
    private static final Map<String, CountDownLatch> GATES = new ConcurrentHashMap<>();
    private static final Map<String, Task> TASKS = new ConcurrentHashMap<>();
    private static Class<?> observer;

    /**
     * One task: `rows` rows of `size` letters go to `code`. Then it takes `take` batches, waits at
     * its own gate if `held`, and does what `then` says: `drain` takes the rest and closes, `close`
     * only closes, `forget` fails where no finally closes (byzer-lang issue 1652).
     */
    private static final class Task extends Thread {
        final String label;
        final JsonNode more;
        final List<String> value = new ArrayList<>();
        volatile String failed;

        Task(String label, JsonNode more) {
            super(label);
            setDaemon(true);
            this.label = label;
            this.more = more;
        }

        @Override
        public void run() {
            try {
                tell("begin", label, "job-" + label);
                compute();
            } catch (Throwable error) { // the test judges it
                failed = text(error);
            } finally {
                try {
                    tell("end", label);
                } catch (ReflectiveOperationException error) {
                    failed = text(error);
                }
            }
        }

        private void compute() throws InterruptedException {
            JavaContext context = new JavaContext();
            String then = more.path("then").asText("drain");
            try {
                ArrowPythonRunner runner = runner(more);
                scala.collection.Iterator<ColumnarBatch> out = runner.compute(
                        scala(Arrays.asList(scala(input())).iterator()), 0,
                        new AppContextImpl(context, runner));
                for (int n = more.path("take").asInt(0); n > 0 && out.hasNext(); n--) {
                    take(out.next());
                }
                if (more.path("held").asBoolean()) {
                    gate(label).await();
                }
                if (then.equals("forget")) {
                    throw new IllegalStateException("cannot decode the first batch");
                }
                while (then.equals("drain") && out.hasNext()) {
                    take(out.next());
                }
            } finally {
                if (!then.equals("forget")) {
                    context.markComplete();
                    context.close();
                }
            }
        }

        private Iterator<InternalRow> input() {
            UTF8String text = UTF8String.fromString("x".repeat(more.path("size").asInt(1)));
            return IntStream.range(0, more.path("rows").asInt(1))
                    .mapToObj(n -> (InternalRow) new GenericInternalRow(new Object[] {text}))
                    .iterator();
        }

        private void take(ColumnarBatch batch) {
            batch.rowIterator().forEachRemaining(row -> value.add(row.getUTF8String(0).toString()));
        }
    }

    private static ArrowPythonRunner runner(JsonNode more) {
        Map<String, String> env = strings(more.path("env"));
        env.put("PYTHON_ENV", ":"); // pyjava 0.3.3 runs `$PYTHON_ENV && python -m pyjava.daemon`
        PythonFunction function =
                new PythonFunction(more.path("code").asText(), env, "python", "3");
        scala.collection.immutable.Map<String, String> conf =
                scala.collection.immutable.Map$.MODULE$.empty();
        for (Map.Entry<String, String> entry : strings(more.path("conf")).entrySet()) {
            conf = conf.$plus(new Tuple2<>(entry.getKey(), entry.getValue()));
        }
        return new ArrowPythonRunner(
                list(new ChainedPythonFunctions(list(function))), ROW, "GMT", conf);
    }

    private static Map<String, String> strings(JsonNode node) {
        Map<String, String> found = new HashMap<>();
        node.fields().forEachRemaining(one -> found.put(one.getKey(), one.getValue().asText()));
        return found;
    }

    private static <T> scala.collection.Seq<T> list(T one) {
        return JavaConverters.asScalaBuffer(Arrays.asList(one));
    }

    private static <T> scala.collection.Iterator<T> scala(Iterator<T> from) {
        return JavaConverters.asScalaIterator(from);
    }

    private static CountDownLatch gate(String name) {
        return GATES.computeIfAbsent(name, any -> new CountDownLatch(1));
    }

    private static String text(Throwable error) {
        StringWriter text = new StringWriter();
        error.printStackTrace(new PrintWriter(text));
        return text.toString();
    }

    private static void tell(String method, String... words) throws ReflectiveOperationException {
        if (observer != null) {
            Class<?>[] types = new Class<?>[words.length];
            Arrays.fill(types, String.class);
            observer.getMethod(method, types).invoke(null, (Object[]) words);
        }
    }

    private static Map<String, Object> answer(JsonNode command) throws Exception {
        Map<String, Object> answer = new HashMap<>();
        String label = command.path("label").asText();
        switch (command.path("do").asText()) {
            case "begin":
                TASKS.put(label, new Task(label, command.path("more")));
                TASKS.get(label).start();
                break;
            case "end":
                Task task = TASKS.get(label);
                task.join(Math.max(1, (long) (command.path("wait").asDouble() * 1000)));
                answer.put("done", !task.isAlive());
                if (!task.isAlive()) {
                    answer.put("value", task.value);
                    answer.put("failed", task.failed);
                }
                break;
            case "open":
                gate(command.path("gate").asText()).countDown();
                break;
            default:
                throw new IllegalArgumentException("no such command: " + command);
        }
        return answer;
    }

    public static void main(String[] args) throws Exception {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setOut(System.err); // whatever pyjava prints goes to the log
        try {
            observer = Class.forName(System.getProperty("observer", "reaper.pyjava.Observer"));
        } catch (ClassNotFoundException none) {
            observer = null;
        }
        tell("start");
        answers.println(JSON.writeValueAsString(Map.of("observer", observer != null)));
        BufferedReader commands =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            Map<String, Object> answer;
            try {
                answer = answer(JSON.readTree(line));
            } catch (Exception error) {
                answer = Map.of("error", text(error));
            }
            answers.println(JSON.writeValueAsString(answer));
        }
        Runtime.getRuntime().halt(0);
    }
}
