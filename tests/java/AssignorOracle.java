import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;

/**
 * Asks the task assignors of the kafka-streams release on the class path, 2.6 or later: a group in, a line of JSON out.
 *
 * A group is what `streams-assignor assign` reads. "op" is "assign" (the default), or "actives" or "standbys" for the
 * rack-aware optimization alone (3.6 or later): then clients have "active" and "standby" tasks, and "costs" are the
 * traffic and the non-overlap cost. The answer has "clients" with what they get, "followup" or "cost", and "racks",
 * whether those could be looked at. All by reflection, as no two of these releases have the same signatures.
 */
public final class AssignorOracle {
    private static final String PROCESSOR = "org.apache.kafka.streams.processor.";
    private static final String INTERNALS = PROCESSOR + "internals.assignment.";
    private static final Class<?> TASK = optional(PROCESSOR + "TaskId");
    private static final Class<?> CLIENT = optional(INTERNALS + "ClientState");
    private static final Class<?> PROCESS = optional(PROCESSOR + "assignment.ProcessId");
    private static final Class<?> RACKS = optional(INTERNALS + "RackAwareTaskAssignor");
    private static final Class<?> PARTITION = optional("org.apache.kafka.common.TopicPartition");
    private static final Class<?> NODE = optional("org.apache.kafka.common.Node");

    public static void main(String[] arguments) throws Exception {
        Answers.give(AssignorOracle::answer);
    }

    private static Map<String, Object> answer(Map<?, ?> group) throws Exception {
        Object configs = configs(group, number(group, "standbys", 0));
        Set<Object> tasks = tasks(list(group, "tasks"));
        Set<Object> stateful = tasks(list(group, "stateful"));
        TreeMap<Object, Object> clients = clients(group);
        Object racks = RACKS == null ? null : racks(group, configs(group, 0));
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("racks", racks != null && (Boolean) call(racks, "canEnableRackAwareAssignor"));
        if (racks != null) {
            addChangelogs(group, racks);
        }
        String op = group.containsKey("op") ? (String) group.get("op") : "assign";
        if (op.equals("assign")) {
            Object assignor = assignor((String) group.get("assignor"));
            answer.put("followup", racks == null
                ? call(assignor, "assign", clients, tasks, stateful, configs)
                : call(assignor, "assign", clients, tasks, stateful, racks, configs));
        } else {
            int traffic = ((Number) list(group, "costs").get(0)).intValue();
            int nonOverlap = ((Number) list(group, "costs").get(1)).intValue();
            answer.put("cost", op.equals("actives")
                ? call(racks, "optimizeActiveTasks", new TreeSet<>(tasks), clients, traffic, nonOverlap)
                : call(racks, "optimizeStandbyTasks", clients, traffic, nonOverlap, mayMove(group)));
        }
        Map<String, Object> shares = new LinkedHashMap<>();
        for (Map.Entry<Object, Object> each : clients.entrySet()) {
            Map<String, Object> share = new LinkedHashMap<>();
            share.put("active", pairs((Set<?>) call(each.getValue(), "activeTasks")));
            share.put("standby", pairs((Set<?>) call(each.getValue(), "standbyTasks")));
            shares.put(String.valueOf(PROCESS == null ? each.getKey() : call(each.getKey(), "id")), share);
        }
        answer.put("clients", shares);
        return answer;
    }

    private static Object assignor(String name) throws Exception {
        String[] classes = switch (name) {
            case "sticky" -> new String[] {"LegacyStickyTaskAssignor", "StickyTaskAssignor"};
            case "fallback-prior" -> new String[] {"FallbackPriorTaskAssignor"};
            default -> new String[] {"HighAvailabilityTaskAssignor"};
        };
        Class<?> found = optional(INTERNALS + classes[0]);
        return make(found == null ? optional(INTERNALS + classes[1]) : found);
    }

    private static Object configs(Map<?, ?> group, long standbys) throws Exception {
        long lag = number(group, "acceptableLag", 10_000);
        int warmups = (int) number(group, "warmups", 2);
        Integer traffic = group.get("trafficCost") == null ? null : (int) number(group, "trafficCost", 0);
        Integer nonOverlap = group.get("nonOverlapCost") == null ? null : (int) number(group, "nonOverlapCost", 0);
        String strategy = group.containsKey("strategy") ? (String) group.get("strategy") : "none";
        List<?> tags = list(group, "tags");
        Class<?> of38 = optional(PROCESSOR + "assignment.AssignmentConfigs");
        if (of38 != null) {
            return make(of38, lag, warmups, (int) standbys, 600_000L, tags, optional(traffic), optional(nonOverlap), strategy);
        }
        Class<?> before = optional(INTERNALS + "AssignorConfiguration$AssignmentConfigs");
        List<Object> all = new ArrayList<>(
            Arrays.asList(lag, warmups, (int) standbys, 600_000L, tags, traffic, nonOverlap, strategy));
        for (int most = RACKS == null ? 5 : 8; ; most--) {
            try {
                return make(before, all.subList(0, most).toArray());
            } catch (NoSuchMethodException fewer) {
                if (most == 4) {
                    throw fewer;
                }
            }
        }
    }

    private static OptionalInt optional(Integer value) {
        return value == null ? OptionalInt.empty() : OptionalInt.of(value);
    }

    private static TreeMap<Object, Object> clients(Map<?, ?> group) throws Exception {
        TreeMap<Object, Object> clients = new TreeMap<>();
        for (Object each : list(group, "clients")) {
            Map<?, ?> client = (Map<?, ?>) each;
            Map<Object, Object> lags = new HashMap<>();
            for (Object lag : list(client, "lags")) {
                lags.put(task((List<?>) lag), ((Number) ((List<?>) lag).get(2)).longValue());
            }
            Object process = process(client);
            Set<Object> active = tasks(list(client, "prevActive"));
            Set<Object> standby = tasks(list(client, "prevStandby"));
            int capacity = (int) number(client, "capacity", 1);
            Object tags = client.containsKey("tags") ? client.get("tags") : Map.of();
            Object state;
            try {
                state = make(CLIENT, active, standby, lags, tags, capacity, process);
            } catch (NoSuchMethodException older) {
                try {
                    state = make(CLIENT, active, standby, lags, tags, capacity);
                } catch (NoSuchMethodException oldest) {
                    state = make(CLIENT, active, standby, lags, capacity);
                }
            }
            for (Object task : tasks(list(client, "active"))) {
                call(state, "assignActive", task);
            }
            for (Object task : tasks(list(client, "standby"))) {
                call(state, "assignStandby", task);
            }
            clients.put(process, state);
        }
        return clients;
    }

    private static Object process(Map<?, ?> client) throws Exception {
        UUID process = UUID.fromString((String) client.get("id"));
        return PROCESS == null ? process : make(PROCESS, process);
    }

    /** The racks of clients, and of the partitions that tasks read, which have a topic for each place in a list. */
    private static Object racks(Map<?, ?> group, Object configs) throws Exception {
        Map<String, Object> nodes = new HashMap<>();
        Set<Object> infos = new LinkedHashSet<>();
        Map<Object, Set<Object>> partitions = new HashMap<>();
        for (Object each : list(group, "racks")) {
            List<?> row = (List<?>) each;
            Set<Object> own = new HashSet<>();
            int number = 0;
            for (Object replicas : (List<?>) row.get(2)) {
                Object partition = partition("input", row, number++);
                List<Object> brokers = new ArrayList<>();
                for (Object rack : (List<?>) replicas) {
                    String name = (String) rack;
                    if (!nodes.containsKey(name)) {
                        nodes.put(name, make(NODE, nodes.size(), "localhost", 9092, name));
                    }
                    brokers.add(nodes.get(name));
                }
                Object[] array = brokers.toArray((Object[]) java.lang.reflect.Array.newInstance(NODE, 0));
                infos.add(make(optional("org.apache.kafka.common.PartitionInfo"), call(partition, "topic"),
                    call(partition, "partition"), array.length > 0 ? array[0] : null, array, array));
                own.add(partition);
            }
            partitions.put(task(row), own);
        }
        Map<Object, Set<Object>> changelogs = new HashMap<>();
        for (Object each : list(group, "changelogRacks")) {
            List<?> row = (List<?>) each;
            Set<Object> own = new HashSet<>();
            for (int number = 0; number < ((List<?>) row.get(2)).size(); number++) {
                own.add(partition("changelog", row, number));
            }
            changelogs.put(task(row), own);
        }
        Map<Object, Set<Object>> subtopologies = new HashMap<>();
        Class<?> subtopology = optional(PROCESSOR + "internals.TopologyMetadata$Subtopology");
        for (Object task : tasks(list(group, "tasks"))) {
            subtopologies.computeIfAbsent(
                make(subtopology, (Integer) call(task, "subtopology"), null), any -> new HashSet<>()).add(task);
        }
        Map<Object, Object> ofClients = new HashMap<>();
        for (Object each : list(group, "clients")) {
            Map<String, Optional<String>> members = new LinkedHashMap<>();
            Object rack = ((Map<?, ?>) each).get("rack");
            for (Object one : rack instanceof List<?> several ? several : Collections.singletonList(rack)) {
                members.put("consumer-" + members.size(), Optional.ofNullable((String) one));
            }
            ofClients.put(process((Map<?, ?>) each), members);
        }
        Object cluster = make(optional("org.apache.kafka.common.Cluster"), "cluster",
            Set.copyOf(nodes.values()), infos, Set.of(), Set.of());
        Object system = optional("org.apache.kafka.common.utils.Time").getField("SYSTEM").get(null);
        return make(RACKS, cluster, partitions, changelogs, subtopologies, ofClients, null, configs, system);
    }

    /** Kafka asks the brokers for these; here they are put where it keeps the answer. */
    @SuppressWarnings("unchecked")
    private static void addChangelogs(Map<?, ?> group, Object racks) throws Exception {
        Field field = RACKS.getDeclaredField("racksForPartition");
        field.setAccessible(true);
        Map<Object, Set<String>> known = (Map<Object, Set<String>>) field.get(racks);
        for (Object each : list(group, "changelogRacks")) {
            List<?> row = (List<?>) each;
            int number = 0;
            for (Object replicas : (List<?>) row.get(2)) {
                Set<String> names = new HashSet<>();
                ((List<?>) replicas).forEach(rack -> names.add((String) rack));
                known.put(partition("changelog", row, number++), names);
            }
        }
    }

    /** Whether a standby may move: always, or, with tags, as the standby assignor for those says. */
    private static Object mayMove(Map<?, ?> group) throws Exception {
        Object byTags = make(optional(INTERNALS + "ClientTagAwareStandbyTaskAssignor"));
        boolean always = list(group, "tags").isEmpty();
        Class<?> type = optional(INTERNALS + "RackAwareTaskAssignor$MoveStandbyTaskPredicate");
        return Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type},
            (proxy, method, given) -> always || (Boolean) call(byTags, "isAllowedTaskMovement", given));
    }

    private static Object partition(String kind, List<?> row, int number) throws Exception {
        int subtopology = ((Number) row.get(0)).intValue();
        int partition = ((Number) row.get(1)).intValue();
        return make(PARTITION, kind + "-" + subtopology + "-" + number, partition);
    }

    private static Set<Object> tasks(List<?> pairs) throws Exception {
        Set<Object> tasks = new LinkedHashSet<>();
        for (Object pair : pairs) {
            tasks.add(task((List<?>) pair));
        }
        return tasks;
    }

    private static Object task(List<?> pair) throws Exception {
        return make(TASK, ((Number) pair.get(0)).intValue(), ((Number) pair.get(1)).intValue());
    }

    private static List<List<Integer>> pairs(Set<?> tasks) {
        List<List<Integer>> pairs = new ArrayList<>();
        for (Object task : new TreeSet<>(tasks)) {
            String[] parts = task.toString().split("_");
            pairs.add(List.of(Integer.valueOf(parts[0]), Integer.valueOf(parts[1])));
        }
        return pairs;
    }

    private static List<?> list(Map<?, ?> object, String key) {
        return object.get(key) == null ? List.of() : (List<?>) object.get(key);
    }

    private static long number(Map<?, ?> object, String key, long otherwise) {
        return object.get(key) == null ? otherwise : ((Number) object.get(key)).longValue();
    }

    private static Class<?> optional(String name) {
        try {
            return Class.forName(name);
        } catch (ClassNotFoundException none) {
            return null;
        }
    }

    /** The constructor that takes these; among several the one that does not want boxes. */
    private static Object make(Class<?> type, Object... given) throws Exception {
        for (Constructor<?> each : type.getDeclaredConstructors()) {
            if (fits(each.getParameterTypes(), given)) {
                each.setAccessible(true);
                return each.newInstance(given);
            }
        }
        throw new NoSuchMethodException(type + " of " + Arrays.toString(given));
    }

    private static final Map<String, List<Method>> METHODS = new HashMap<>();

    private static Object call(Object target, String name, Object... given) throws Exception {
        List<Method> methods = METHODS.computeIfAbsent(target.getClass().getName() + "." + name, any -> {
            List<Method> found = new ArrayList<>();
            for (Class<?> type = target.getClass(); type != null; type = type.getSuperclass()) {
                for (Method each : type.getDeclaredMethods()) {
                    if (each.getName().equals(name) && !each.isBridge()) {
                        each.setAccessible(true);
                        found.add(each);
                    }
                }
            }
            return found;
        });
        for (Method each : methods) {
            if (fits(each.getParameterTypes(), given)) {
                return each.invoke(target, given);
            }
        }
        throw new NoSuchMethodException(target.getClass() + "." + name);
    }

    private static boolean fits(Class<?>[] wanted, Object[] given) {
        if (wanted.length != given.length) {
            return false;
        }
        for (int i = 0; i < wanted.length; i++) {
            Class<?> boxed = wanted[i] == int.class ? Integer.class : wanted[i] == long.class ? Long.class
                : wanted[i] == boolean.class ? Boolean.class : wanted[i];
            if (given[i] == null ? wanted[i].isPrimitive() : !boxed.isInstance(given[i])) {
                return false;
            }
        }
        return true;
    }
}
