import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;

/**
 * Kafka's own command line tools, many calls in one JVM.
 *
 * <p>A line of standard input is a call: the name of the tool's class and its arguments, separated by U+001F. A line of
 * standard output is what came of it: exit status, and in base64 what the tool wrote to its standard output and error.
 */
public final class Tools {
    private static final PrintStream ANSWERS = System.out;

    private Tools() {
    }

    public static void main(String[] none) throws Exception {
        BufferedReader calls = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String call = calls.readLine(); call != null; call = calls.readLine()) {
            String[] words = call.split("\u001f", -1);
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            ByteArrayOutputStream err = new ByteArrayOutputStream();
            System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
            System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
            int status = run(words[0], Arrays.copyOfRange(words, 1, words.length));
            ANSWERS.println(status + " " + text(out) + " " + text(err) + " .");
            ANSWERS.flush();
        }
    }

    /** The tools offer this method to Kafka's own tests only, which is why it has to be opened. */
    private static int run(String tool, String[] arguments) throws Exception {
        Method main = Class.forName("org.apache.kafka.tools." + tool).getDeclaredMethod("mainNoExit", String[].class);
        main.setAccessible(true);
        try {
            return (int) main.invoke(null, (Object) arguments);
        } catch (InvocationTargetException thrown) {
            thrown.getCause().printStackTrace();
            return -1;
        }
    }

    private static String text(ByteArrayOutputStream said) {
        return "=" + Base64.getEncoder().encodeToString(said.toByteArray());
    }
}
