import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Answers for the replaced methods of Kafka: asks Python, a line of JSON each way. */
public final class Bridge {
    /** Questions since the current test began. */
    static int calls;
    /** Constructors that Python has accepted and that have not returned: Kafka has refused the values. */
    public static int accepted;

    private static final boolean CANARY = Boolean.getBoolean("bridge.canary");
    /** The command, as a list in JSON. */
    private static final String PYTHON = System.getProperty("bridge.python");
    private static BufferedReader answers;
    private static Writer questions;

    private Bridge() {
    }

    public static Object call(String method, Object self, Object[] arguments) throws Throwable {
        if (CANARY) {
            throw new AssertionError("canary: the test has reached the bridge");
        }
        String[] handler = Agent.HANDLERS.get(method).split("\\.");
        try {
            return Class.forName(handler[0]).getDeclaredMethod(handler[1], Object.class, Object[].class)
                .invoke(null, self, arguments);
        } catch (InvocationTargetException wrapper) {
            throw wrapper.getCause();
        }
    }

    /** What Python answers; a refusal is an object with the key "refused". */
    static synchronized Map<?, ?> ask(String operation, Map<String, ?> values) {
        calls++;
        Map<String, Object> question = new LinkedHashMap<>(values);
        question.put("operation", operation);
        try {
            if (answers == null) {
                List<String> command = ((List<?>) Json.read(PYTHON)).stream().map(String::valueOf).toList();
                Process python = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
                Runtime.getRuntime().addShutdownHook(new Thread(python::destroy));
                answers = new BufferedReader(new InputStreamReader(python.getInputStream(), StandardCharsets.UTF_8));
                questions = new OutputStreamWriter(python.getOutputStream(), StandardCharsets.UTF_8);
            }
            questions.write(Json.write(question) + "\n");
            questions.flush();
            String line = answers.readLine();
            if (line == null) {
                throw new IllegalStateException("Python has ended");
            }
            return (Map<?, ?>) Json.read(line);
        } catch (IOException failure) {
            throw new IllegalStateException(failure);
        }
    }
}
