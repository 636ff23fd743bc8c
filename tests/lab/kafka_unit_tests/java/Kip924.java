import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.ApplicationState;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment.AssignedTask;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment.AssignedTask.Type;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsState;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.AssignmentError;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.TaskAssignment;
import org.apache.kafka.streams.processor.assignment.TaskInfo;
import org.apache.kafka.streams.processor.assignment.TaskTopicPartition;

/** The public task assignors and TaskAssignmentUtils (3.8 and later): an ApplicationState goes to Python. */
final class Kip924 {
    private Kip924() {
    }

    static Object sticky(Object self, Object[] arguments) {
        boolean preserving = (Boolean) Values.get(self, "mustPreserveActiveTaskAssignment");
        ApplicationState state = (ApplicationState) arguments[0];
        Map<String, Object> group = group(preserving ? "fallback-prior" : "sticky", state);
        Map<?, ?> answer = Assignors.answered(group);
        Map<ProcessId, KafkaStreamsAssignment> assigned = new HashMap<>();
        store(assigned, (Map<?, ?>) answer.get("clients"));
        List<KafkaStreamsAssignment> result = new ArrayList<>(assigned.values());
        if ((Boolean) answer.get("followup")) {
            result.set(0, result.get(0).withFollowupRebalance(Instant.EPOCH));
        }
        return new TaskAssignment(result);
    }

    static Object identity(Object self, Object[] arguments) {
        Map<ProcessId, KafkaStreamsAssignment> assigned = new HashMap<>();
        store(assigned, utility("identity", (ApplicationState) arguments[0], assigned, Map.of()));
        return assigned;
    }

    static Object standbys(Object self, Object[] arguments) {
        Map<ProcessId, KafkaStreamsAssignment> assigned = assignments(arguments[1]);
        store(assigned, utility("standbys", (ApplicationState) arguments[0], assigned, Map.of()));
        return null;
    }

    static Object optimizeActives(Object self, Object[] arguments) {
        return optimize("optimize active", arguments);
    }

    static Object optimizeStandbys(Object self, Object[] arguments) {
        return optimize("optimize standby", arguments);
    }

    private static Object optimize(String utility, Object[] arguments) {
        Object params = arguments[0];
        Map<String, Object> given = new LinkedHashMap<>();
        given.put("only", Values.plain(Values.get(params, "tasksToOptimize")));
        given.put("trafficCostOverride", Values.plain(Values.get(params, "trafficCostOverride")));
        given.put("nonOverlapCostOverride", Values.plain(Values.get(params, "nonOverlapCostOverride")));
        Map<ProcessId, KafkaStreamsAssignment> assigned = assignments(arguments[1]);
        ApplicationState state = (ApplicationState) Values.get(params, "applicationState");
        store(assigned, utility(utility, state, assigned, given));
        return null;
    }

    static Object validate(Object self, Object[] arguments) {
        Map<String, Object> question = group("sticky", (ApplicationState) arguments[0]);
        List<Object> rows = Values.list();
        for (KafkaStreamsAssignment each : ((TaskAssignment) arguments[1]).assignment()) {
            rows.add(row(each));
        }
        question.put("assignments", rows);
        question.put("utility", "validate");
        return AssignmentError.valueOf((String) Bridge.ask("utility", question).get("error"));
    }

    @SuppressWarnings("unchecked")
    private static Map<ProcessId, KafkaStreamsAssignment> assignments(Object argument) {
        return (Map<ProcessId, KafkaStreamsAssignment>) argument;
    }

    private static Map<?, ?> utility(
        String utility, ApplicationState state, Map<ProcessId, KafkaStreamsAssignment> assigned, Map<String, Object> given
    ) {
        Map<String, Object> question = group("sticky", state);
        question.putAll(given);
        question.put("utility", utility);
        List<Object> rows = Values.list();
        assigned.values().forEach(each -> rows.add(row(each)));
        question.put("assignments", rows);
        Map<?, ?> answer = Bridge.ask("utility", question);
        if (answer.containsKey("refused")) {
            throw new IllegalStateException("Python refuses: " + answer);
        }
        return (Map<?, ?>) answer.get("clients");
    }

    private static List<Object> row(KafkaStreamsAssignment assigned) {
        List<Object> active = Values.list();
        List<Object> standby = Values.list();
        for (AssignedTask each : assigned.tasks().values()) {
            (each.type() == Type.ACTIVE ? active : standby).add(Values.plain(each.id()));
        }
        return Values.list(Values.plain(assigned.processId()), active, standby);
    }

    /** As Kafka's utilities do, changes the assignments that are there. */
    private static void store(Map<ProcessId, KafkaStreamsAssignment> assigned, Map<?, ?> clients) {
        clients.forEach((id, given) -> {
            Set<AssignedTask> tasks = new HashSet<>();
            Values.tasks(((Map<?, ?>) given).get("active")).forEach(task -> tasks.add(new AssignedTask(task, Type.ACTIVE)));
            Values.tasks(((Map<?, ?>) given).get("standby"))
                .forEach(task -> tasks.add(new AssignedTask(task, Type.STANDBY)));
            ProcessId process = (ProcessId) Values.processId((String) id);
            assigned.put(process, KafkaStreamsAssignment.of(process, tasks));
        });
    }

    /** A group as `streams-assignor assign` reads it. */
    private static Map<String, Object> group(String assignor, ApplicationState state) {
        Map<String, Object> group = Assignors.group(assignor, state.assignmentConfigs());
        group.put("strategy", state.assignmentConfigs().rackAwareAssignmentStrategy());
        List<Object> tasks = Values.list();
        List<Object> stateful = Values.list();
        List<Object> sources = Values.list();
        List<Object> changelogs = Values.list();
        for (TaskInfo task : state.allTasks().values()) {
            tasks.add(Values.plain(task.id()));
            List<Object> read = Values.list();
            List<Object> written = Values.list();
            for (TaskTopicPartition each : task.topicPartitions()) {
                Object racks = Values.plain(each.rackIds().orElse(Set.of()));
                if (each.isSource()) {
                    read.add(racks);
                }
                if (each.isChangelog()) {
                    written.add(racks);
                }
            }
            if (!written.isEmpty()) { // standbys need a changelog: a store without one makes a task stateful, too
                stateful.add(Values.plain(task.id()));
            }
            sources.add(row(task.id(), read));
            changelogs.add(row(task.id(), written));
        }
        group.put("tasks", tasks);
        group.put("stateful", stateful);
        group.put("racks", sources);
        group.put("changelogRacks", changelogs);
        List<Object> clients = Values.list();
        state.kafkaStreamsStates(false).forEach((id, process) -> clients.add(client(id, process)));
        group.put("clients", clients);
        return group;
    }

    private static List<Object> row(TaskId task, List<Object> replicas) {
        List<Object> row = Values.list(((List<?>) Values.plain(task)).toArray());
        row.add(replicas);
        return row;
    }

    private static Map<String, Object> client(ProcessId id, KafkaStreamsState process) {
        Map<String, Object> client = new LinkedHashMap<>();
        client.put("id", Values.plain(id));
        client.put("capacity", process.numProcessingThreads());
        client.put("prevActive", Values.plain(process.previousActiveTasks()));
        client.put("prevStandby", Values.plain(process.previousStandbyTasks()));
        client.put("tags", process.clientTags());
        client.put("rack", process.rackId().orElse(null));
        return client;
    }
}
