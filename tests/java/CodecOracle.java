import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;

/**
 * Asks SubscriptionInfo and AssignmentInfo of the kafka-streams release on the class path, 2.0 or later.
 *
 * A line of JSON in, a line out: {"op": "decode" | "reencode", "kind": "subscription" | "assignment", "hex": ...} gives
 * {"fields": {...}}, {"hex": ...} or {"error": class, "message": ...}. All by reflection, as no two releases have the
 * same accessors; a field that the release does not have is left out.
 */
public final class CodecOracle {
    private static final String STREAMS = "org.apache.kafka.streams.processor.internals.assignment.";
    private static final Map<String, String> CLASSES =
        Map.of("subscription", STREAMS + "SubscriptionInfo", "assignment", STREAMS + "AssignmentInfo");
    /** A field's name here, then what it was called in some release. */
    private static final Map<String, String[][]> FIELDS = Map.of(
        "subscription", new String[][] {
            {"version"}, {"latestSupported", "latestSupportedVersion"}, {"processId"}, {"prevTasks"}, {"standbyTasks"},
            {"userEndPoint"}, {"taskOffsetSums"}, {"uniqueField"}, {"errorCode"}, {"clientTags"}},
        "assignment", new String[][] {
            {"version"}, {"latestSupported", "latestSupportedVersion", "commonlySupportedVersion"}, {"activeTasks"},
            {"standbyTasks"}, {"partitionsByHost"}, {"standbyPartitionsByHost", "standbyPartitionByHost"}, {"errCode"},
            {"nextRebalanceMs"}});
    private static final Map<Class<?>, Map<String, Optional<Method>>> METHODS = new HashMap<>();

    public static void main(String[] arguments) throws Exception {
        Answers.give(CodecOracle::answer);
    }

    private static Map<String, Object> answer(Map<?, ?> question) throws Throwable {
        String kind = (String) question.get("kind");
        ByteBuffer blob = ByteBuffer.wrap(HexFormat.of().parseHex((String) question.get("hex")));
        Method decode = Class.forName(CLASSES.get(kind)).getMethod("decode", ByteBuffer.class);
        Object info = invoke(decode, null, blob);
        switch ((String) question.get("op")) {
            case "decode": return Map.of("fields", fields(kind, info));
            case "reencode": return Map.of("hex", hex((ByteBuffer) call(info, "encode")));
            default: throw new IllegalArgumentException("no such op: " + question.get("op"));
        }
    }

    private static Map<String, Object> fields(String kind, Object info) throws Throwable {
        Map<String, Object> found = new LinkedHashMap<>();
        for (String[] names : FIELDS.get(kind)) {
            for (String name : names) {
                Object owner = name.equals("uniqueField") ? message(info) : info;
                if (owner != null && method(owner, name).isPresent()) {
                    found.put(names[0], plain(call(owner, name)));
                }
            }
        }
        return found;
    }

    /** The generated message inside, as some fields have no accessor outside; null before there was one. */
    private static Object message(Object info) throws IllegalAccessException {
        try {
            Field data = info.getClass().getDeclaredField("data");
            data.setAccessible(true);
            return data.get(info);
        } catch (NoSuchFieldException older) {
            return null;
        }
    }

    /** The same in maps, lists, strings and numbers: a map is a list of [key, value]. */
    private static Object plain(Object value) throws Throwable {
        if (value instanceof Map) {
            return plain(((Map<?, ?>) value).entrySet());
        }
        if (value instanceof Map.Entry) {
            Map.Entry<?, ?> entry = (Map.Entry<?, ?>) value;
            return list(entry.getKey(), entry.getValue());
        }
        if (value instanceof Collection) {
            return list(((Collection<?>) value).toArray());
        }
        if (value instanceof UUID) {
            return value.toString();
        }
        switch (value == null ? "" : value.getClass().getSimpleName()) {
            case "ProcessId": return plain(call(value, "id"));
            case "TopicPartition": return list(call(value, "topic"), call(value, "partition"));
            case "HostInfo": return list(call(value, "host"), call(value, "port"));
            case "TaskId": return task(value);
            default: return value;
        }
    }

    /** [subtopology, partition] and the name of the topology, if it has one. */
    private static List<Object> task(Object id) throws Throwable {
        if (method(id, "subtopology").isEmpty()) {
            Class<?> before30 = id.getClass();
            return list(before30.getField("topicGroupId").get(id), before30.getField("partition").get(id));
        }
        List<Object> parts = list(call(id, "subtopology"), call(id, "partition"));
        Object name = call(id, "topologyName");
        parts.addAll(name == null ? Collections.emptyList() : Arrays.asList(name));
        return parts;
    }

    private static List<Object> list(Object... values) throws Throwable {
        List<Object> found = new ArrayList<>(values.length);
        for (Object value : values) {
            found.add(plain(value));
        }
        return found;
    }

    private static String hex(ByteBuffer encoded) {
        ByteBuffer whole = encoded.duplicate();
        whole.rewind();
        byte[] bytes = new byte[whole.remaining()];
        whole.get(bytes);
        return HexFormat.of().formatHex(bytes);
    }

    private static Object call(Object owner, String name) throws Throwable {
        return invoke(method(owner, name).orElseThrow(() -> new NoSuchMethodError(name)), owner);
    }

    private static Object invoke(Method method, Object owner, Object... arguments) throws Throwable {
        try {
            return method.invoke(owner, arguments);
        } catch (InvocationTargetException wrapper) {
            throw wrapper.getCause();
        }
    }

    private static Optional<Method> method(Object owner, String name) {
        return METHODS.computeIfAbsent(owner.getClass(), any -> new HashMap<>()).computeIfAbsent(name, any -> {
            try {
                return Optional.of(owner.getClass().getMethod(name));
            } catch (NoSuchMethodException missing) {
                return Optional.empty();
            }
        });
    }
}
