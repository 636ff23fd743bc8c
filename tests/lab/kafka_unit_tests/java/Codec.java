import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.streams.errors.TaskAssignmentException;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.internals.assignment.AssignmentInfo;
import org.apache.kafka.streams.processor.internals.assignment.StreamsAssignmentProtocolVersions;
import org.apache.kafka.streams.processor.internals.assignment.SubscriptionInfo;

/** SubscriptionInfo and AssignmentInfo: the values stay in Kafka's objects, the bytes are written and read by Python. */
final class Codec {
    private static final int LATEST = StreamsAssignmentProtocolVersions.LATEST_SUPPORTED_VERSION;
    private static final String[] SUBSCRIPTION = {
        "version", "latestSupportedVersion", "processId", "prevTasks", "standbyTasks", "userEndPoint", "errorCode",
        "clientTags"};
    private static final String[] ASSIGNMENT = {
        "version", "commonlySupportedVersion", "activeTasks", "standbyTasks", "partitionsByHost",
        "standbyPartitionByHost", "errCode", "nextRebalanceMs"};

    private Codec() {
    }

    static Object encodeSubscription(Object self, Object[] none) {
        Map<String, Object> values = accessors(self, SUBSCRIPTION);
        Object data = Values.get(self, "data");
        values.put("uniqueField", Values.get(data, "uniqueField"));
        values.put("taskOffsetSums", offsetSums((List<?>) Values.get(data, "taskOffsetSums")));
        return encoded(Bridge.ask("encode subscription", values));
    }

    /** In the order in which they were given; up to version 9 in groups by subtopology. */
    private static List<Object> offsetSums(List<?> groups) {
        List<Object> rows = Values.list();
        for (Object group : groups) {
            Object subtopology = Values.get(group, "topicGroupId");
            List<?> partitions = (List<?>) Values.get(group, "partitionToOffsetSum");
            for (Object each : partitions.isEmpty() ? List.of(group) : partitions) {
                List<Object> task = Values.list(subtopology, Values.get(each, "partition"));
                if (Values.has(each.getClass(), "namedTopology") && Values.get(each, "namedTopology") != null) {
                    task.add(Values.get(each, "namedTopology"));
                }
                rows.add(Values.list(task, Values.get(each, "offsetSum")));
            }
        }
        return rows;
    }

    static Object encodeAssignment(Object self, Object[] none) {
        return encoded(Bridge.ask("encode assignment", accessors(self, ASSIGNMENT)));
    }

    static Object decodeSubscription(Object none, Object[] arguments) throws ReflectiveOperationException {
        Map<?, ?> read = decoded("decode subscription", arguments);
        int version = Values.number(read.get("version"));
        int supported = Values.number(read.get("latestSupportedVersion"));
        if (read.containsKey("future")) {
            return future(version, supported);
        }
        Map<TaskId, Long> sums = new LinkedHashMap<>(); // Kafka keeps the order of the bytes
        for (Object row : (List<?>) read.get("taskOffsetSums")) {
            sums.put(Values.task(((List<?>) row).get(0)), ((Number) ((List<?>) row).get(1)).longValue());
        }
        List<Object> given = Values.list(
            version, supported, Values.processId((String) read.get("processId")), read.get("userEndPoint"), sums,
            ((Number) read.get("uniqueField")).byteValue(), Values.number(read.get("errorCode")));
        Map<String, String> tags = new LinkedHashMap<>();
        for (Object row : (List<?>) read.get("clientTags")) {
            tags.put((String) ((List<?>) row).get(0), (String) ((List<?>) row).get(1));
        }
        if (Values.has(SubscriptionInfo.class, "clientTags")) {
            given.add(tags);
        }
        return Values.make(SubscriptionInfo.class, given.toArray());
    }

    /** Kafka keeps only the versions of a subscription from the future. */
    private static Object future(int version, int supported) throws ReflectiveOperationException {
        Class<?> type = Class.forName("org.apache.kafka.streams.internals.generated.SubscriptionInfoData");
        Object data = type.getConstructor().newInstance();
        type.getMethod("setVersion", int.class).invoke(data, version);
        type.getMethod("setLatestSupportedVersion", int.class).invoke(data, supported);
        return Values.make(SubscriptionInfo.class, data);
    }

    static Object decodeAssignment(Object none, Object[] arguments) {
        Map<?, ?> read = decoded("decode assignment", arguments);
        Map<TaskId, Object> standby = new HashMap<>();
        for (Object row : (List<?>) read.get("standbyTasks")) {
            standby.put(Values.task(((List<?>) row).get(0)), Values.partitions(((List<?>) row).get(1)));
        }
        AssignmentInfo info = (AssignmentInfo) Values.make(
            AssignmentInfo.class, Values.number(read.get("version")), Values.number(read.get("commonlySupportedVersion")),
            Values.tasks(read.get("activeTasks")), standby, Values.hosts(read.get("partitionsByHost")),
            Values.hosts(read.get("standbyPartitionByHost")), Values.number(read.get("errCode")));
        info.setNextRebalanceTime(((Number) read.get("nextRebalanceMs")).longValue());
        return info;
    }

    static Object checkSubscription(Object none, Object[] arguments) {
        return checked("subscription", arguments, Values.plain(arguments[4]));
    }

    static Object checkAssignment(Object none, Object[] arguments) {
        return checked("assignment", arguments, List.of());
    }

    /** The first two arguments are the versions. */
    private static Object checked(String kind, Object[] arguments, Object offsetSums) {
        Map<?, ?> answer = Bridge.ask("check " + kind, Map.of(
            "version", arguments[0], "latestSupportedVersion", arguments[1], "taskOffsetSums", offsetSums,
            "latest", LATEST));
        if (Boolean.TRUE.equals(answer.get("unknownVersion"))) {
            throw new IllegalArgumentException((String) answer.get("refused"));
        }
        accepted(answer);
        return null;
    }

    private static Map<String, Object> accessors(Object info, String[] names) {
        Map<String, Object> values = new LinkedHashMap<>();
        for (String name : names) {
            if (Values.has(info.getClass(), name)) {
                values.put(name, Values.plain(Values.get(info, name)));
            }
        }
        return values;
    }

    private static ByteBuffer encoded(Map<?, ?> answer) {
        return ByteBuffer.wrap(HexFormat.of().parseHex((String) accepted(answer).get("hex")));
    }

    private static Map<?, ?> decoded(String operation, Object[] arguments) {
        ByteBuffer data = (ByteBuffer) arguments[0];
        data.rewind(); // as Kafka does
        byte[] bytes = new byte[data.remaining()];
        data.get(bytes);
        return accepted(Bridge.ask(operation, Map.of("hex", HexFormat.of().formatHex(bytes), "latest", LATEST)));
    }

    private static Map<?, ?> accepted(Map<?, ?> answer) {
        if (answer.containsKey("refused")) {
            throw new TaskAssignmentException((String) answer.get("refused"));
        }
        return answer;
    }
}
