import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.kafka.connect.runtime.distributed.ConnectProtocol;
import org.apache.kafka.connect.runtime.distributed.ExtendedAssignment;
import org.apache.kafka.connect.runtime.distributed.ExtendedWorkerState;
import org.apache.kafka.connect.runtime.distributed.IncrementalCooperativeConnectProtocol;
import org.apache.kafka.connect.util.ConnectorTaskId;

/** Prints tests/vectors/connect.jsonl: what Kafka's classes write for workers of Connect, and read of it again. */
public class ConnectVectors {
    private static final String URL = "http://w-1:8083/";
    private static final List<ConnectorTaskId> TASKS = List.of(task("sink", 0), task("sink", 1), task("source", 7));
    private static final List<String> SINK = List.of("sink");
    private static String release;
    private static String separator = "";

    public static void main(String[] arguments) throws ReflectiveOperationException {
        release = arguments[0];
        System.out.print("[");
        subscription("eager", ConnectProtocol.serializeMetadata(new ConnectProtocol.WorkerState(URL, 42)));
        eager("eager", new ConnectProtocol.Assignment((short) 0, "w-1-id", URL, 42, SINK, TASKS));
        eager("eager, configuration behind", new ConnectProtocol.Assignment((short) 1, "w-1-id", URL, 43, List.of(), List.of()));
        for (boolean sessioned : new boolean[] {false, true}) {
            String name = sessioned ? "sessioned" : "compatible";
            short version = (short) (sessioned ? 2 : 1);
            ExtendedAssignment has = assignment(version, SINK, List.of(task("sink", 0)), List.of(), List.of(), 0);
            subscription(name + ", an allocation", IncrementalCooperativeConnectProtocol.serializeMetadata(new ExtendedWorkerState(URL, 42, has), sessioned));
            subscription(name + ", no allocation", IncrementalCooperativeConnectProtocol.serializeMetadata(new ExtendedWorkerState(URL, 42, null), sessioned));
            cooperative(name, assignment(version, SINK, TASKS, List.of("old"), List.of(task("old", 3)), 300_000), sessioned);
            cooperative(name + ", nothing", assignment(version, List.of(), List.of(), List.of(), List.of(), 0), sessioned);
        }
        System.out.println("\n]");
    }

    private static ConnectorTaskId task(String connector, int number) {
        return new ConnectorTaskId(connector, number);
    }

    private static ExtendedAssignment assignment(short version, List<String> connectors, List<ConnectorTaskId> tasks, List<String> revoked, List<ConnectorTaskId> revokedTasks, int delay) {
        return new ExtendedAssignment(version, (short) 0, "w-1-id", URL, 42, connectors, tasks, revoked, revokedTasks, delay);
    }

    private static void subscription(String name, ByteBuffer written) {
        ConnectProtocol.WorkerState read = ConnectProtocol.deserializeMetadata(written.duplicate());
        print("subscription", name, written, "\"url\": \"" + read.url() + "\", \"config_offset\": " + read.offset());
    }

    private static void eager(String name, ConnectProtocol.Assignment given) {
        ByteBuffer written = ConnectProtocol.serializeAssignment(given);
        print("assignment", name, written, fields(ConnectProtocol.deserializeAssignment(written.duplicate())));
    }

    private static void cooperative(String name, ExtendedAssignment given, boolean sessioned) throws ReflectiveOperationException {
        ByteBuffer written = serialize(given, sessioned);
        ExtendedAssignment read = IncrementalCooperativeConnectProtocol.deserializeAssignment(written.duplicate());
        print("assignment", name, written, fields(read) + ", \"revoked\": " + tasks(read.revokedConnectors(), read.revokedTasks()) + ", \"scheduled_delay\": " + read.delay());
    }

    /** Later releases ask for the protocol, earlier ones take it from the assignment. */
    private static ByteBuffer serialize(ExtendedAssignment given, boolean sessioned) throws ReflectiveOperationException {
        for (Method method : IncrementalCooperativeConnectProtocol.class.getMethods()) {
            if (method.getName().equals("serializeAssignment")) {
                return (ByteBuffer) (method.getParameterCount() == 1 ? method.invoke(null, given) : method.invoke(null, given, sessioned));
            }
        }
        throw new NoSuchMethodException("serializeAssignment");
    }

    private static String fields(ConnectProtocol.Assignment read) {
        return "\"error_code\": " + read.error() + ", \"leader\": \"" + read.leader()
            + "\", \"leader_url\": \"" + read.leaderUrl() + "\", \"config_offset\": " + read.offset()
            + ", \"assigned\": " + tasks(read.connectors(), read.tasks());
    }

    private static String tasks(Collection<String> connectors, Collection<ConnectorTaskId> tasks) {
        Map<String, TreeSet<Integer>> found = new TreeMap<>();
        connectors.forEach(each -> found.computeIfAbsent(each, name -> new TreeSet<>()).add(-1));
        tasks.forEach(each -> found.computeIfAbsent(each.connector(), name -> new TreeSet<>()).add(each.task()));
        return found.entrySet().stream().map(each -> "\"" + each.getKey() + "\": " + each.getValue()).collect(Collectors.joining(", ", "{", "}"));
    }

    private static void print(String kind, String name, ByteBuffer written, String fields) {
        StringBuilder hex = new StringBuilder();
        for (ByteBuffer rest = written.duplicate(); rest.hasRemaining();) {
            hex.append(String.format("%02x", rest.get()));
        }
        System.out.printf("%s%n {\"release\": \"%s\", \"kind\": \"%s\", \"name\": \"%s\", \"hex\": \"%s\", \"fields\": {%s}}", separator, release, kind, name, hex, fields);
        separator = ",";
    }
}
