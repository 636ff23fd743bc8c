import java.lang.reflect.InvocationTargetException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Asks the generated messages of the kafka-group-coordinator release on the class path, 3.9 or later, and requests
 * and responses of kafka-clients, whose names end with "Data".
 *
 * A line of JSON in, a line out: {"op": "decode", "message": name, "version": ..., "hex": ...} gives {"json": text of
 * the message's JsonConverter, "hex": the message written again, "left": bytes that were not read};
 * {"op": "encode", "message": name, "version": ..., "json": text} gives the same of the message that the JsonConverter
 * reads; {"op": "versions", "message": name} gives {"lowest": ..., "highest": ...}; {"op": "types"} gives {"types": [[number, name], ...]} (4.0 or later).
 */
public final class CoordinatorOracle {
    private static final String GENERATED = "org.apache.kafka.coordinator.group.generated.";
    private static final String REQUESTS = "org.apache.kafka.common.message.";
    private static final String PROTOCOL = "org.apache.kafka.common.protocol.";

    public static void main(String[] arguments) throws Exception {
        Answers.give(CoordinatorOracle::answer);
    }

    private static Map<String, Object> answer(Map<?, ?> question) throws Throwable {
        try {
            switch ((String) question.get("op")) {
                case "decode": return decode(question);
                case "encode": return encode(question);
                case "versions": return versions(Class.forName(named(question)));
                case "types": return types();
                default: throw new IllegalArgumentException("no such op: " + question.get("op"));
            }
        } catch (InvocationTargetException error) {
            throw error.getCause();
        }
    }

    private static String named(Map<?, ?> question) {
        String name = (String) question.get("message");
        return (name.endsWith("Data") ? REQUESTS : GENERATED) + name;
    }

    private static Map<String, Object> decode(Map<?, ?> question) throws Exception {
        Class<?> type = Class.forName(named(question));
        short version = ((Long) question.get("version")).shortValue();
        Class<?> accessor = Class.forName(PROTOCOL + "ByteBufferAccessor");
        ByteBuffer bytes = ByteBuffer.wrap(HexFormat.of().parseHex((String) question.get("hex")));
        Object message = type.getConstructor(Class.forName(PROTOCOL + "Readable"), short.class)
            .newInstance(accessor.getConstructor(ByteBuffer.class).newInstance(bytes), version);
        return shown(type, message, version, bytes.remaining());
    }

    private static Map<String, Object> encode(Map<?, ?> question) throws Exception {
        Class<?> type = Class.forName(named(question));
        short version = ((Long) question.get("version")).shortValue();
        Class<?> mapper = Class.forName("com.fasterxml.jackson.databind.ObjectMapper");
        Object json = mapper.getMethod("readTree", String.class)
            .invoke(mapper.getConstructor().newInstance(), question.get("json"));
        Object message = Class.forName(type.getName() + "JsonConverter")
            .getMethod("read", Class.forName("com.fasterxml.jackson.databind.JsonNode"), short.class)
            .invoke(null, json, version);
        return shown(type, message, version, 0);
    }

    private static Map<String, Object> shown(Class<?> type, Object message, short version, long left)
            throws Exception {
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("json", Class.forName(type.getName() + "JsonConverter")
            .getMethod("write", type, short.class).invoke(null, message, version).toString());
        answer.put("hex", HexFormat.of().formatHex(written(type, message, version)));
        answer.put("left", left);
        return answer;
    }

    private static byte[] written(Class<?> type, Object message, short version) throws Exception {
        Class<?> accessor = Class.forName(PROTOCOL + "ByteBufferAccessor");
        Class<?> cacheType = Class.forName(PROTOCOL + "ObjectSerializationCache");
        Class<?> sizeType = Class.forName(PROTOCOL + "MessageSizeAccumulator");
        Object cache = cacheType.getConstructor().newInstance();
        Object size = sizeType.getConstructor().newInstance();
        type.getMethod("addSize", sizeType, cacheType, short.class).invoke(message, size, cache, version);
        ByteBuffer out = ByteBuffer.allocate((int) sizeType.getMethod("totalSize").invoke(size));
        type.getMethod("write", Class.forName(PROTOCOL + "Writable"), cacheType, short.class)
            .invoke(message, accessor.getConstructor(ByteBuffer.class).newInstance(out), cache, version);
        return out.array();
    }

    private static Map<String, Object> versions(Class<?> type) throws Exception {
        return Map.of(
            "lowest", (long) type.getField("LOWEST_SUPPORTED_VERSION").getShort(null),
            "highest", (long) type.getField("HIGHEST_SUPPORTED_VERSION").getShort(null));
    }

    private static Map<String, Object> types() throws Exception {
        List<Object> found = new ArrayList<>();
        Class<?> types = Class.forName(GENERATED + "CoordinatorRecordType");
        for (Object type : types.getEnumConstants()) {
            Object key = types.getMethod("newRecordKey").invoke(type);
            String name = key.getClass().getSimpleName();
            found.add(List.of(
                (long) (short) types.getMethod("id").invoke(type), name.substring(0, name.length() - 3)));
        }
        return Map.of("types", found);
    }
}
