import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.AssignmentConfigs;
import org.apache.kafka.streams.processor.assignment.ProcessId;
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

    private static Map<String, Object> answer(Map<?, ?> group) {
        List<String> tags = new ArrayList<>();
        list(group, "tags").forEach(tag -> tags.add((String) tag));
        AssignmentConfigs configs = new AssignmentConfigs(
            number(group, "acceptableLag"), (int) number(group, "warmups"), (int) number(group, "standbys"), 600_000L,
            tags);
        Set<TaskId> tasks = tasks(list(group, "tasks"));
        Set<TaskId> stateful = tasks(list(group, "stateful"));
        RackAwareTaskAssignor racks = new RackAwareTaskAssignor(
            null, Map.of(), Map.of(), Map.of(), Map.of(), null, configs, Time.SYSTEM);
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
