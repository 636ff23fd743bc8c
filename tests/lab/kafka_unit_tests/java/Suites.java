import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.engine.support.descriptor.ClassSource;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/** Runs the test classes that its arguments name, and writes a line of JSON for each test to the first argument. */
public final class Suites implements TestExecutionListener {
    private final PrintStream results;

    private Suites(PrintStream results) {
        this.results = results;
    }

    public static void main(String[] arguments) throws Exception {
        var request = LauncherDiscoveryRequestBuilder.request();
        Arrays.stream(arguments).skip(1).map(DiscoverySelectors::selectClass).forEach(request::selectors);
        try (PrintStream results = new PrintStream(arguments[0], StandardCharsets.UTF_8)) {
            LauncherFactory.create().execute(request.build(), new Suites(results));
        }
        System.exit(0); // mocked clients leave threads behind
    }

    @Override
    public void executionStarted(TestIdentifier test) {
        if (test.isTest()) {
            Bridge.calls = 0;
            Bridge.accepted = 0;
        }
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
        boolean refusedByKafkaAlone = Bridge.accepted != 0 && result.getStatus() == TestExecutionResult.Status.SUCCESSFUL;
        Throwable thrown = result.getThrowable().orElse(null);
        if (refusedByKafkaAlone) {
            thrown = new AssertionError("Kafka has refused values that Python accepts");
        }
        if (test.isTest() || thrown != null) {
            write(test, thrown == null ? "passed" : "failed", thrown == null ? "" : why(thrown));
        }
    }

    private static String why(Throwable thrown) {
        StackTraceElement[] frames = thrown.getStackTrace();
        return frames.length == 0 ? thrown.toString() : thrown + " at " + frames[0];
    }

    @Override
    public void executionSkipped(TestIdentifier test, String reason) {
        write(test, "skipped", reason);
    }

    private void write(TestIdentifier test, String outcome, String why) {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("suite", suite(test));
        line.put("test", test.getLegacyReportingName());
        line.put("name", test.getDisplayName());
        line.put("outcome", outcome);
        line.put("calls", Bridge.calls);
        line.put("why", why);
        results.println(Json.write(line));
        results.flush();
    }

    private static String suite(TestIdentifier test) {
        var source = test.getSource().orElse(null);
        String name = source instanceof MethodSource method ? method.getClassName()
            : source instanceof ClassSource type ? type.getClassName() : test.getUniqueId();
        return name.substring(name.lastIndexOf('.') + 1);
    }
}
