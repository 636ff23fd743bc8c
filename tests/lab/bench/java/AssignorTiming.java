import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
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
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.AssignmentConfigs;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.internals.TopologyMetadata.Subtopology;
import org.apache.kafka.streams.processor.internals.assignment.ClientState;
import org.apache.kafka.streams.processor.internals.assignment.FallbackPriorTaskAssignor;
import org.apache.kafka.streams.processor.internals.assignment.HighAvailabilityTaskAssignor;
import org.apache.kafka.streams.processor.internals.assignment.LegacyStickyTaskAssignor;
import org.apache.kafka.streams.processor.internals.assignment.LegacyTaskAssignor;
import org.apache.kafka.streams.processor.internals.assignment.RackAwareTaskAssignor;

/**
 * The assignors of kafka-streams 4.x: a line of JSON in (a group), a line out (what it gets, and how long that took).
 *
 * A group is what `streams-assignor assign` reads, and "otherwise", the lag of the tasks that a client does not list,
 * and "repeat", how often to assign it; the state of the clients is made anew each time, outside of what is measured.
 */
public final class AssignorTiming {
    public static void main(String[] arguments) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err); // whatever the jar wants to say
        BufferedReader groups = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = groups.readLine(); line != null; line = groups.readLine()) {
            answers.println(Json.write(answer((Map<?, ?>) Json.read(line))));
            answers.flush();
        }
    }

    private static Map<String, Object> answer(Map<?, ?> group) throws ReflectiveOperationException {
        List<String> tags = new ArrayList<>();
        list(group, "tags").forEach(tag -> tags.add((String) tag));
        AssignmentConfigs configs = configs(group, tags, (int) number(group, "standbys"));
        Set<TaskId> tasks = tasks(list(group, "tasks"));
        Set<TaskId> stateful = tasks(list(group, "stateful"));
        RackAwareTaskAssignor racks = racks(group, tasks, configs(group, tags, 0));
        List<Object> times = new ArrayList<>();
        Map<ProcessId, ClientState> clients = new TreeMap<>();
        boolean followUp = false;
        for (long i = group.containsKey("repeat") ? number(group, "repeat") : 1; i > 0; i--) {
            clients = clients(group, stateful);
            LegacyTaskAssignor assignor = assignor((String) group.get("assignor"));
            long begun = System.nanoTime();
            followUp = assignor.assign(clients, tasks, stateful, racks, configs);
            times.add(System.nanoTime() - begun);
        }
        Map<String, Object> shares = new LinkedHashMap<>();
        clients.forEach((process, client) -> shares.put(process.id().toString(), Map.of(
            "active", pairs(client.activeTasks()), "standby", pairs(client.standbyTasks()))));
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("followup", followUp);
        answer.put("clients", shares);
        answer.put("ns", times);
        return answer;
    }

    private static AssignmentConfigs configs(Map<?, ?> group, List<String> tags, int standbys) {
        return new AssignmentConfigs(
            number(group, "acceptableLag"), (int) number(group, "warmups"), standbys, 600_000L, tags,
            OptionalInt.empty(), OptionalInt.empty(),
            group.containsKey("strategy") ? (String) group.get("strategy") : "none");
    }

    /**
     * What is known of racks. Kafka asks brokers for those of changelogs; here they are put where it keeps the answer,
     * after it has found out, for a group without standbys, that all others are known.
     */
    @SuppressWarnings("unchecked")
    private static RackAwareTaskAssignor racks(Map<?, ?> group, Set<TaskId> tasks, AssignmentConfigs configs)
            throws ReflectiveOperationException {
        if (!group.containsKey("strategy")) {
            return new RackAwareTaskAssignor(null, Map.of(), Map.of(), Map.of(), Map.of(), null, configs, Time.SYSTEM);
        }
        Map<String, Node> nodes = new HashMap<>();
        List<PartitionInfo> infos = new ArrayList<>();
        Map<TaskId, Set<TopicPartition>> partitions = new HashMap<>();
        for (Object each : list(group, "racks")) {
            List<?> row = (List<?>) each;
            Set<TopicPartition> own = new LinkedHashSet<>();
            for (Object replicas : (List<?>) row.get(2)) {
                TopicPartition partition = new TopicPartition("input-" + row.get(0) + "-" + own.size(), partition(row));
                Node[] brokers = ((List<?>) replicas).stream().map(rack -> nodes.computeIfAbsent(
                    (String) rack, name -> new Node(nodes.size(), "localhost", 9092, name))).toArray(Node[]::new);
                infos.add(new PartitionInfo(partition.topic(), partition.partition(), brokers[0], brokers, brokers));
                own.add(partition);
            }
            partitions.put(task(row), own);
        }
        Map<TaskId, Set<TopicPartition>> changelogs = new HashMap<>();
        Map<TopicPartition, Set<String>> known = new HashMap<>();
        for (Object each : list(group, "changelogRacks")) {
            List<?> row = (List<?>) each;
            for (Object replicas : (List<?>) row.get(2)) {
                Set<TopicPartition> own = changelogs.computeIfAbsent(task(row), any -> new LinkedHashSet<>());
                TopicPartition partition = new TopicPartition("log-" + row.get(0) + "-" + own.size(), partition(row));
                own.add(partition);
                known.put(partition, new LinkedHashSet<>((List<String>) replicas));
            }
        }
        Map<Subtopology, Set<TaskId>> subtopologies = new HashMap<>();
        tasks.forEach(task -> subtopologies.computeIfAbsent(
            new Subtopology(task.subtopology(), null), any -> new LinkedHashSet<>()).add(task));
        Map<ProcessId, Map<String, Optional<String>>> clients = new HashMap<>();
        for (Object each : list(group, "clients")) {
            Map<?, ?> client = (Map<?, ?>) each;
            clients.put(new ProcessId(UUID.fromString((String) client.get("id"))),
                Map.of("consumer", Optional.of((String) client.get("rack"))));
        }
        Cluster cluster = new Cluster("cluster", nodes.values(), infos, Set.of(), Set.of());
        RackAwareTaskAssignor racks = new RackAwareTaskAssignor(
            cluster, partitions, changelogs, subtopologies, clients, null, configs, Time.SYSTEM);
        if (!racks.canEnableRackAwareAssignor()) {
            throw new IllegalArgumentException("racks are not known");
        }
        Field field = RackAwareTaskAssignor.class.getDeclaredField("racksForPartition");
        field.setAccessible(true);
        ((Map<TopicPartition, Set<String>>) field.get(racks)).putAll(known);
        return racks;
    }

    private static int partition(List<?> row) {
        return ((Number) row.get(1)).intValue();
    }

    private static LegacyTaskAssignor assignor(String name) {
        return switch (name) {
            case "sticky" -> new LegacyStickyTaskAssignor();
            case "fallback-prior" -> new FallbackPriorTaskAssignor();
            default -> new HighAvailabilityTaskAssignor();
        };
    }

    private static Map<ProcessId, ClientState> clients(Map<?, ?> group, Set<TaskId> stateful) {
        Map<ProcessId, ClientState> clients = new TreeMap<>();
        for (Object each : list(group, "clients")) {
            Map<?, ?> client = (Map<?, ?>) each;
            Map<TaskId, Long> lags = new HashMap<>();
            if (group.containsKey("otherwise")) {
                long otherwise = number(group, "otherwise");
                stateful.forEach(task -> lags.put(task, otherwise));
            }
            for (Object lag : list(client, "lags")) {
                lags.put(task((List<?>) lag), ((Number) ((List<?>) lag).get(2)).longValue());
            }
            Map<String, String> tags = new HashMap<>();
            ((Map<?, ?>) client.get("tags")).forEach((key, value) -> tags.put((String) key, (String) value));
            ProcessId process = new ProcessId(UUID.fromString((String) client.get("id")));
            clients.put(process, new ClientState(tasks(list(client, "prevActive")), tasks(list(client, "prevStandby")),
                lags, tags, (int) number(client, "capacity"), process));
        }
        return clients;
    }

    private static Set<TaskId> tasks(List<?> pairs) {
        Set<TaskId> tasks = new LinkedHashSet<>();
        pairs.forEach(pair -> tasks.add(task((List<?>) pair)));
        return tasks;
    }

    private static TaskId task(List<?> pair) {
        return new TaskId(((Number) pair.get(0)).intValue(), ((Number) pair.get(1)).intValue());
    }

    private static List<List<Integer>> pairs(Set<TaskId> tasks) {
        List<List<Integer>> pairs = new ArrayList<>();
        new TreeSet<>(tasks).forEach(task -> pairs.add(List.of(task.subtopology(), task.partition())));
        return pairs;
    }

    private static List<?> list(Map<?, ?> object, String key) {
        return (List<?>) object.get(key);
    }

    private static long number(Map<?, ?> object, String key) {
        return ((Number) object.get(key)).longValue();
    }
}
