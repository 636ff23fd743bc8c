import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;

/** What all oracles have in common: a line of JSON in, a line of JSON out, until the input ends. */
final class Answers {
    interface Oracle {
        Map<String, Object> answer(Map<?, ?> question) throws Throwable;
    }

    private Answers() {
    }

    static void give(Oracle oracle) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err); // whatever a jar wants to say
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            answers.println(answer(oracle, line));
            answers.flush();
        }
    }

    /** Any error is an answer: running out of memory is what some releases do with a large count. */
    private static String answer(Oracle oracle, String line) {
        try {
            return Json.write(oracle.answer((Map<?, ?>) Json.read(line)));
        } catch (Throwable error) {
            Throwable cause = error instanceof InvocationTargetException ? error.getCause() : error;
            Map<String, Object> answer = new LinkedHashMap<>();
            answer.put("error", cause.getClass().getName());
            answer.put("message", cause.getMessage());
            return Json.write(answer);
        }
    }
}
