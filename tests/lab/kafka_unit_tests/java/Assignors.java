import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.internals.assignment.ClientState;

/** The internal task assignors: the group goes to `streams-assignor assign`, its answer into the ClientStates. */
final class Assignors {
    private static final String[] CONFIGS = {
        "standbys", "numStandbyReplicas", "warmups", "maxWarmupReplicas", "acceptableLag", "acceptableRecoveryLag",
        "tags", "rackAwareAssignmentTags", "trafficCost", "rackAwareTrafficCost", "nonOverlapCost",
        "rackAwareNonOverlapCost"};

    private Assignors() {
    }

    static Object highAvailability(Object self, Object[] arguments) throws Exception {
        return assign("high-availability", arguments);
    }

    static Object sticky(Object self, Object[] arguments) throws Exception {
        boolean preserving = (Boolean) Values.get(self, "mustPreserveActiveTaskAssignment");
        assign(preserving ? "fallback-prior" : "sticky", arguments);
        return false; // that a follow-up rebalance is needed says FallbackPriorTaskAssignor around it
    }

    static Object fallbackPrior(Object self, Object[] arguments) throws Exception {
        return assign("fallback-prior", arguments);
    }

    /** Arguments: clients, all tasks, stateful tasks, since 3.5 a RackAwareTaskAssignor, configuration. */
    private static boolean assign(String assignor, Object[] arguments) throws Exception {
        Map<?, ?> clients = (Map<?, ?>) arguments[0];
        Set<?> stateful = (Set<?>) arguments[2];
        Object configs = arguments[arguments.length - 1];
        Map<String, Object> group = group(assignor, configs);
        group.put("tasks", Values.plain(arguments[1]));
        group.put("stateful", Values.plain(stateful));
        Object rack = arguments.length > 4 && !assignor.equals("fallback-prior") ? arguments[3] : null;
        Racks racks = rack == null ? null : Racks.of(rack);
        List<Object> rows = Values.list();
        for (Map.Entry<?, ?> entry : clients.entrySet()) {
            ClientState state = (ClientState) entry.getValue();
            Map<String, Object> client = new LinkedHashMap<>();
            client.put("id", Values.plain(entry.getKey()));
            client.put("capacity", Values.get(state, "capacity"));
            client.put("prevActive", Values.plain(Values.get(state, "prevActiveTasks")));
            client.put("prevStandby", Values.plain(Values.get(state, "prevStandbyTasks")));
            if (assignor.equals("high-availability")) {
                List<Object> lags = Values.list();
                for (Object task : stateful) {
                    List<Object> lag = Values.list(((List<?>) Values.plain(task)).toArray());
                    lag.add(state.lagFor((TaskId) task));
                    lags.add(lag);
                }
                client.put("lags", lags);
            }
            if (Values.has(ClientState.class, "clientTags")) {
                client.put("tags", Values.get(state, "clientTags"));
            }
            if (racks != null) {
                client.put("rack", racks.ofProcess(entry.getKey()));
            }
            rows.add(client);
        }
        group.put("clients", rows);
        if (racks != null) {
            racks.describe(group, (Integer) Values.get(configs, "numStandbyReplicas"));
        }
        Map<?, ?> answer = answered(group);
        clients.forEach((id, state) -> {
            Map<?, ?> own = (Map<?, ?>) ((Map<?, ?>) answer.get("clients")).get(Values.plain(id));
            Values.tasks(own.get("active")).forEach(((ClientState) state)::assignActive);
            Values.tasks(own.get("standby")).forEach(((ClientState) state)::assignStandby);
        });
        return (Boolean) answer.get("followup");
    }

    static Map<String, Object> group(String assignor, Object configs) {
        Map<String, Object> group = new LinkedHashMap<>();
        group.put("assignor", assignor);
        for (int at = 0; at < CONFIGS.length; at += 2) {
            if (Values.has(configs.getClass(), CONFIGS[at + 1]) || at < 6) { // fields before 3.8; no racks before 3.2
                group.put(CONFIGS[at], Values.plain(Values.get(configs, CONFIGS[at + 1])));
            }
        }
        return group;
    }

    static Map<?, ?> answered(Map<String, Object> group) {
        Map<?, ?> answer = Bridge.ask("assign", group);
        if (answer.containsKey("refused")) {
            throw new IllegalStateException("Python refuses the group: " + answer);
        }
        return answer;
    }

    /** What a RackAwareTaskAssignor knows. */
    private record Racks(Object assignor) {
        static Racks of(Object assignor) {
            return (Boolean) Values.get(assignor, "canEnableRackAwareAssignor") ? new Racks(assignor) : null;
        }

        Object ofProcess(Object process) {
            return ((Map<?, ?>) Values.get(assignor, "racksForProcess")).get(process);
        }

        /** Adds the racks of all partitions, and calls what tests count with Mockito: on nothing, without an effect. */
        void describe(Map<String, Object> group, int standbys) throws Exception {
            Object configs = Values.get(assignor, "assignmentConfigs"); // its own, as in Kafka
            group.put("strategy", Values.get(configs, "rackAwareAssignmentStrategy"));
            group.put("racks", replicas("partitionsForTask"));
            group.put("changelogRacks", replicas("changelogPartitionsForTask"));
            for (var each : assignor.getClass().getMethods()) {
                if (each.getName().equals("optimizeActiveTasks")) {
                    each.invoke(assignor, new TreeSet<>(), new TreeMap<>(), 0, 0);
                    each.invoke(assignor, new TreeSet<>(), new TreeMap<>(), 0, 0);
                }
                if (each.getName().equals("optimizeStandbyTasks") && standbys > 0) {
                    each.invoke(assignor, new TreeMap<>(), 0, 0, null);
                }
            }
        }

        private List<Object> replicas(String field) {
            Map<?, ?> known = (Map<?, ?>) Values.get(assignor, "racksForPartition");
            List<Object> rows = Values.list();
            ((Map<?, ?>) Values.get(assignor, field)).forEach((task, partitions) -> {
                List<Object> row = Values.list(((List<?>) Values.plain(task)).toArray());
                List<Object> replicas = Values.list();
                ((Set<?>) partitions).forEach(each ->
                    replicas.add(Values.plain(known.containsKey(each) ? known.get(each) : List.of())));
                row.add(replicas);
                rows.add(row);
            });
            return rows;
        }
    }
}
