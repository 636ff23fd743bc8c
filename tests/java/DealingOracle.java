import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.UUID;

/**
 * Asks the kafka-streams release on the class path, 2.6 or later, how it deals the tasks of a client to its members.
 *
 * In: {"members": [id], "stateful": [task], "stateless": [task], "standby": [task], "sums": {id: [[group, partition,
 * sum]]}, "ends": [[group, partition, end]]}. Out: {"active": {id: [task]}, "standby": {id: [task]}}.
 */
public final class DealingOracle {
    private static final String PROCESSOR = "org.apache.kafka.streams.processor.";

    public static void main(String[] arguments) throws Exception {
        Answers.give(DealingOracle::dealt);
    }

    private static Map<String, Object> dealt(Map<?, ?> given) throws Exception {
        Object client = client(given);
        SortedSet<String> members = new TreeSet<>();
        for (Object member : (List<?>) given.get("members")) {
            members.add((String) member);
        }
        Method deal = method(PROCESSOR + "internals.StreamsPartitionAssignor", "assignTasksToThreads");
        Set<Object> stateful = tasks(given.get("stateful"));
        Set<Object> stateless = tasks(given.get("stateless"));
        Set<Object> standby = tasks(given.get("standby"));
        Map<String, Object> answer = new LinkedHashMap<>();
        if (deal.getParameterTypes()[1] == Collection.class) { // 2.6 to 3.1
            answer.put("active", plain(deal.invoke(null, stateful, stateless, members, client)));
            answer.put("standby", plain(deal.invoke(null, standby, new HashSet<>(), members, client)));
        } else {
            Map<String, Integer> load = new HashMap<>();
            Map<String, List<Object>> active = plain(deal.invoke(null, stateful, true, members, client, load));
            answer.put("standby", plain(deal.invoke(null, standby, true, members, client, load)));
            plain(deal.invoke(null, stateless, false, members, client, load))
                .forEach((member, more) -> active.get(member).addAll(more));
            answer.put("active", active);
        }
        return answer;
    }

    private static Object client(Map<?, ?> given) throws Exception {
        Object client = Class.forName(PROCESSOR + "internals.assignment.ClientState").getConstructor().newInstance();
        Method add = method(client.getClass().getName(), "addPreviousTasksAndOffsetSums");
        for (Map.Entry<?, ?> entry : ((Map<?, ?>) given.get("sums")).entrySet()) {
            add.invoke(client, entry.getKey(), numbers(entry.getValue()));
        }
        Method compute = method(client.getClass().getName(), "computeTaskLags");
        UUID id = new UUID(0, 1);
        Class<?> process = compute.getParameterTypes()[0];
        Object name = process == UUID.class ? id : process.getConstructor(UUID.class).newInstance(id);
        compute.invoke(client, name, numbers(given.get("ends")));
        return client;
    }

    private static Method method(String type, String name) throws Exception {
        for (Method method : Class.forName(type).getDeclaredMethods()) {
            if (method.getName().equals(name)) {
                method.setAccessible(true);
                return method;
            }
        }
        throw new NoSuchMethodException(name);
    }

    private static Object task(List<?> numbers) throws Exception {
        int group = ((Number) numbers.get(0)).intValue();
        int partition = ((Number) numbers.get(1)).intValue();
        return Class.forName(PROCESSOR + "TaskId").getConstructor(int.class, int.class).newInstance(group, partition);
    }

    private static Set<Object> tasks(Object given) throws Exception {
        Set<Object> tasks = new HashSet<>();
        for (Object each : (List<?>) given) {
            tasks.add(task((List<?>) each));
        }
        return tasks;
    }

    private static Map<Object, Long> numbers(Object given) throws Exception {
        Map<Object, Long> sums = new HashMap<>();
        for (Object each : (List<?>) given) {
            sums.put(task((List<?>) each), ((Number) ((List<?>) each).get(2)).longValue());
        }
        return sums;
    }

    private static Map<String, List<Object>> plain(Object dealt) {
        Map<String, List<Object>> plain = new LinkedHashMap<>();
        for (Map.Entry<?, ?> entry : ((Map<?, ?>) dealt).entrySet()) {
            List<Object> tasks = new ArrayList<>();
            ((List<?>) entry.getValue()).forEach(task -> tasks.add(task.toString()));
            plain.put((String) entry.getKey(), tasks);
        }
        return plain;
    }
}
