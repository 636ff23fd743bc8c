import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Asks the sticky assignor of the kafka-group-coordinator release on the class path, 4.1 or later, to assign a streams
 * group, and Java for the iteration order of a HashMap.
 *
 * In: {"subtopologies": [[id, partitions, stateful]], "standbys": number, "members": [[id, process, {subtopology:
 * [partition]} active, standby, warm-up, {subtopology: {partition: sum}}, instance id (also rack and client tag)]]},
 * or {"keys": [text], "capacity": number}.
 * Out: {"members": {id: {"active": {subtopology: [partition]}, "standby": ...}}}, or {"keys": [text]}.
 */
public final class StreamsGroupAssignorOracle {
    private static final String ASSIGNOR = "org.apache.kafka.coordinator.group.streams.assignor.";
    private static final String API = "org.apache.kafka.coordinator.group.api.streams.assignor."; // since 4.4

    public static void main(String[] arguments) throws Exception {
        Answers.give(question -> question.containsKey("keys") ? order(question) : assigned(question));
    }

    private static Map<String, Object> order(Map<?, ?> question) {
        Map<String, Object> map = new HashMap<>(number(question.get("capacity")));
        ((List<?>) question.get("keys")).forEach(key -> map.put((String) key, key));
        return Map.of("keys", new ArrayList<>(map.keySet()));
    }

    private static Map<String, Object> assigned(Map<?, ?> question) throws Exception {
        Object group = group((List<?>) question.get("members"), number(question.get("standbys")));
        Object assignor = Class.forName(ASSIGNOR + "StickyTaskAssignor").getConstructor().newInstance();
        Object assignment = method(assignor, "assign").invoke(assignor, group, topology(question));
        Map<String, Object> members = new LinkedHashMap<>();
        for (Map.Entry<?, ?> entry : ((Map<?, ?>) get(assignment, "members")).entrySet()) {
            members.put((String) entry.getKey(), Map.of(
                "active", get(entry.getValue(), "activeTasks"), "standby", get(entry.getValue(), "standbyTasks")));
        }
        return Map.of("members", members);
    }

    private static Object group(List<?> rows, int standbys) throws Exception {
        Map<String, Object> members = new LinkedHashMap<>(); // in the order of the question
        for (Object row : rows) {
            members.put((String) ((List<?>) row).get(0), member((List<?>) row));
        }
        Constructor<?> spec = Class.forName(ASSIGNOR + "GroupSpecImpl").getConstructors()[0];
        if (spec.getParameterTypes()[1] == Map.class) {
            return spec.newInstance(members, Map.of("num.standby.replicas", String.valueOf(standbys)));
        }
        Constructor<?> configs = Class.forName(ASSIGNOR + "AssignmentConfigsImpl").getConstructors()[0];
        return spec.newInstance(members, configs.newInstance(standbys, List.of()));
    }

    private static Object member(List<?> row) throws Exception {
        Object process = row.get(1);
        Map<String, Set<Integer>> active = tasks(row.get(2));
        Map<String, Set<Integer>> standby = tasks(row.get(3));
        Map<String, Set<Integer>> warmup = tasks(row.get(4));
        Map<String, Map<Integer, Long>> offsets = new LinkedHashMap<>();
        for (Map.Entry<?, ?> entry : ((Map<?, ?>) row.get(5)).entrySet()) {
            Map<Integer, Long> sums = offsets.computeIfAbsent((String) entry.getKey(), any -> new LinkedHashMap<>());
            ((Map<?, ?>) entry.getValue()).forEach((at, sum) -> sums.put(Integer.valueOf((String) at), (Long) sum));
        }
        Optional<Object> name = Optional.of(row.get(6));
        Map<String, Object> tags = Map.of("zone", row.get(6));
        try {
            return Class.forName(ASSIGNOR + "MemberMetadataAndStateImpl").getConstructors()[0].newInstance(
                name, name, process, tags, active, standby, warmup, offsets, Map.of());
        } catch (ClassNotFoundException before44) { // which does not look at offsets
            return Class.forName(ASSIGNOR + "AssignmentMemberSpec").getConstructors()[0].newInstance(
                name, name, active, standby, warmup, process, tags, Map.of(), Map.of());
        }
    }

    private static Map<String, Set<Integer>> tasks(Object given) {
        Map<String, Set<Integer>> found = new LinkedHashMap<>();
        for (Map.Entry<?, ?> entry : ((Map<?, ?>) given).entrySet()) {
            Set<Integer> partitions = found.computeIfAbsent((String) entry.getKey(), any -> new HashSet<>());
            ((List<?>) entry.getValue()).forEach(each -> partitions.add(number(each)));
        }
        return found;
    }

    private static Object topology(Map<?, ?> question) throws Exception {
        Map<Object, List<?>> rows = new LinkedHashMap<>();
        ((List<?>) question.get("subtopologies")).forEach(row -> rows.put(((List<?>) row).get(0), (List<?>) row));
        InvocationHandler answers = (self, asked, given) -> switch (asked.getName()) {
            case "subtopologies" -> new ArrayList<>(rows.keySet());
            case "maxNumInputPartitions" -> number(rows.get(given[0]).get(1));
            default -> rows.get(given[0]).get(2);
        };
        Class<?> type = describer();
        return Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, answers);
    }

    private static Class<?> describer() throws ClassNotFoundException {
        try {
            return Class.forName(API + "TopologyDescriber");
        } catch (ClassNotFoundException before44) {
            return Class.forName(ASSIGNOR + "TopologyDescriber");
        }
    }

    private static Method method(Object owner, String name) throws NoSuchMethodException {
        for (Method each : owner.getClass().getMethods()) {
            if (each.getName().equals(name) && !each.isBridge()) {
                return each;
            }
        }
        throw new NoSuchMethodException(name);
    }

    private static Object get(Object owner, String name) throws Exception {
        return method(owner, name).invoke(owner);
    }

    private static int number(Object value) {
        return ((Number) value).intValue();
    }
}
