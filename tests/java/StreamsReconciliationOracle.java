import java.lang.reflect.Method;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.BiFunction;

/**
 * Asks the CurrentAssignmentBuilder of the kafka-group-coordinator release on the class path, 4.2 or later, for the
 * next step of a member of a streams group.
 *
 * In: {"member": {"instance", "rack", "tags", "process", "epoch", "previous", "state", "assigned": tasks,
 * "revoking": tasks}, "target": tasks,
 * "targetEpoch", "owned": tasks or null, "activeProcesses": {task: process}, "standbyProcesses": {task: [process]},
 * "warmupProcesses": ...}, where tasks are [{task: epoch} active, [task] standby, [task] warm-up] and a task is
 * "subtopology_partition". Out: the member in the same form, without the first three.
 */
public final class StreamsReconciliationOracle {
    private static final String STREAMS = "org.apache.kafka.coordinator.group.streams.";

    public static void main(String[] arguments) throws Exception {
        Answers.give(StreamsReconciliationOracle::answer);
    }

    private static Map<String, Object> answer(Map<?, ?> question) throws Throwable {
        Object member = member((Map<?, ?>) question.get("member"));
        Class<?> type = Class.forName(STREAMS + "CurrentAssignmentBuilder");
        Object builder = type.getConstructor(member.getClass()).newInstance(member);
        Class<?> tuple = Class.forName(STREAMS + "TasksTuple");
        method(type, "withTargetAssignment").invoke(
            builder, number(question.get("targetEpoch")), tuple(tuple, question.get("target"), false));
        Map<?, ?> active = (Map<?, ?>) question.get("activeProcesses");
        BiFunction<String, Integer, String> owner = (subtopology, at) -> (String) active.get(subtopology + "_" + at);
        method(type, "withCurrentActiveTaskProcessId").invoke(builder, owner);
        method(type, "withCurrentStandbyTaskProcessIds").invoke(builder, processes(question.get("standbyProcesses")));
        method(type, "withCurrentWarmupTaskProcessIds").invoke(builder, processes(question.get("warmupProcesses")));
        Object owned = question.get("owned");
        method(type, "withOwnedAssignment").invoke(builder, owned == null ? null : tuple(tuple, owned, false));
        return described(method(type, "build").invoke(builder));
    }

    private static BiFunction<String, Integer, Set<String>> processes(Object given) {
        Map<String, Set<String>> found = new HashMap<>();
        ((Map<?, ?>) given).forEach((task, ids) -> {
            Set<String> processes = new HashSet<>();
            ((List<?>) ids).forEach(id -> processes.add((String) id));
            found.put((String) task, processes);
        });
        return (subtopology, at) -> found.getOrDefault(subtopology + "_" + at, Set.of());
    }

    private static Object member(Map<?, ?> given) throws Exception {
        Class<?> type = Class.forName(STREAMS + "StreamsGroupMember$Builder");
        Class<?> states = Class.forName(STREAMS + "MemberState");
        Class<?> tuple = Class.forName(STREAMS + "TasksTupleWithEpochs");
        Object builder = type.getMethod("withDefaults", String.class).invoke(null, "member");
        method(type, "setInstanceId").invoke(builder, given.get("instance"));
        method(type, "setRackId").invoke(builder, given.get("rack"));
        method(type, "setClientTags").invoke(builder, given.get("tags"));
        method(type, "setProcessId").invoke(builder, given.get("process"));
        method(type, "setMemberEpoch").invoke(builder, number(given.get("epoch")));
        method(type, "setPreviousMemberEpoch").invoke(builder, number(given.get("previous")));
        method(type, "setState").invoke(
            builder, states.getMethod("valueOf", String.class).invoke(null, given.get("state")));
        method(type, "setAssignedTasks").invoke(builder, tuple(tuple, given.get("assigned"), true));
        method(type, "setTasksPendingRevocation").invoke(builder, tuple(tuple, given.get("revoking"), true));
        return method(type, "build").invoke(builder);
    }

    private static Object tuple(Class<?> type, Object given, boolean hasEpochs) throws Exception {
        List<?> roles = (List<?>) given;
        Map<String, Map<Integer, Integer>> epochs = new HashMap<>();
        for (Map.Entry<?, ?> entry : ((Map<?, ?>) roles.get(0)).entrySet()) {
            String[] task = ((String) entry.getKey()).split("_");
            epochs.computeIfAbsent(task[0], any -> new HashMap<>())
                .put(Integer.valueOf(task[1]), number(entry.getValue()));
        }
        Map<String, Set<Integer>> active = new HashMap<>();
        epochs.forEach((subtopology, tasks) -> active.put(subtopology, new HashSet<>(tasks.keySet())));
        return type.getConstructors()[0].newInstance(
            hasEpochs ? epochs : active, partitions(roles.get(1)), partitions(roles.get(2)));
    }

    private static Map<String, Set<Integer>> partitions(Object given) {
        Map<String, Set<Integer>> found = new HashMap<>();
        for (Object name : (List<?>) given) {
            String[] task = ((String) name).split("_");
            found.computeIfAbsent(task[0], any -> new HashSet<>()).add(Integer.valueOf(task[1]));
        }
        return found;
    }

    private static Map<String, Object> described(Object member) throws Exception {
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("process", get(member, "processId"));
        found.put("epoch", get(member, "memberEpoch"));
        found.put("previous", get(member, "previousMemberEpoch"));
        found.put("state", get(member, "state").toString());
        found.put("assigned", roles(get(member, "assignedTasks")));
        found.put("revoking", roles(get(member, "tasksPendingRevocation")));
        return found;
    }

    private static List<Object> roles(Object tasks) throws Exception {
        Map<String, Object> active = new TreeMap<>();
        ((Map<?, ?>) get(tasks, "activeTasksWithEpochs")).forEach((subtopology, epochs) ->
            ((Map<?, ?>) epochs).forEach((at, epoch) -> active.put(subtopology + "_" + at, epoch)));
        return List.of(active, names(get(tasks, "standbyTasks")), names(get(tasks, "warmupTasks")));
    }

    private static List<String> names(Object tasks) {
        Set<String> found = new HashSet<>();
        ((Map<?, ?>) tasks).forEach((subtopology, partitions) ->
            ((Set<?>) partitions).forEach(at -> found.add(subtopology + "_" + at)));
        return found.stream().sorted().toList();
    }

    private static Object get(Object from, String name) throws Exception {
        Method method = from.getClass().getMethod(name);
        method.setAccessible(true);
        return method.invoke(from);
    }

    private static Method method(Class<?> type, String name) {
        for (Method method : type.getMethods()) {
            if (method.getName().equals(name)) {
                return method;
            }
        }
        throw new IllegalArgumentException("no method " + name + " of " + type);
    }

    private static int number(Object given) {
        return ((Long) given).intValue();
    }
}
