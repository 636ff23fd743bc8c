import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Map;

/**
 * Asks HostInfo.buildFromEndpoint of the kafka-streams release on the class path, 2.6 or later, for many texts.
 *
 * In: {"text": ...}. Out: {"host": ..., "port": ...}, {} for no end point, or {"error": class}.
 */
public final class EndPointOracle {
    public static void main(String[] arguments) throws Exception {
        Class<?> hostInfo = Class.forName("org.apache.kafka.streams.state.HostInfo");
        Method read = hostInfo.getMethod("buildFromEndpoint", String.class);
        Method host = hostInfo.getMethod("host");
        Method port = hostInfo.getMethod("port");
        Answers.give(question -> {
            try {
                Object found = read.invoke(null, question.get("text"));
                return found == null ? Map.of() : Map.of("host", host.invoke(found), "port", port.invoke(found));
            } catch (InvocationTargetException refused) {
                return Map.of("error", refused.getCause().getClass().getSimpleName());
            }
        });
    }
}
