import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.utils.AppInfoParser;
import org.apache.kafka.coordinator.group.streams.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.streams.assignor.GroupSpec;
import org.apache.kafka.coordinator.group.streams.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.streams.assignor.TaskAssignorException;
import org.apache.kafka.coordinator.group.streams.assignor.TopologyDescriber;

/** The broker's task assignor: the group and its topology go to `streams_assignor.spark_sim.streams_groups.task_assignor`. */
final class StreamsGroups {
    private StreamsGroups() {
    }

    /** Arguments: the group, the topology. Members go in the order in which Kafka's assignor iterates over them. */
    static Object assign(Object self, Object[] arguments) {
        GroupSpec group = (GroupSpec) arguments[0];
        TopologyDescriber topology = (TopologyDescriber) arguments[1];
        List<Object> members = new ArrayList<>();
        group.members().forEach((id, spec) -> members.add(Values.list(id, spec.processId(),
            Values.plain(spec.activeTasks()), Values.plain(spec.standbyTasks()), Values.plain(spec.warmupTasks()))));
        List<Object> subtopologies = new ArrayList<>();
        for (String each : topology.subtopologies()) {
            subtopologies.add(Values.list(each, topology.maxNumInputPartitions(each), topology.isStateful(each)));
        }
        Map<String, Object> question = new LinkedHashMap<>();
        question.put("release", AppInfoParser.getVersion());
        question.put("standbys", Integer.parseInt(group.assignmentConfigs().getOrDefault("num.standby.replicas", "0")));
        question.put("subtopologies", subtopologies);
        question.put("members", members);
        Map<?, ?> answer = Bridge.ask("assign a streams group", question);
        if (answer.containsKey("refused")) {
            throw new TaskAssignorException((String) answer.get("refused"));
        }
        Map<String, MemberAssignment> assigned = new HashMap<>();
        ((Map<?, ?>) answer.get("members")).forEach((id, made) -> assigned.put((String) id, new MemberAssignment(
            tasks((Map<?, ?>) made, "active"), tasks((Map<?, ?>) made, "standby"), tasks((Map<?, ?>) made, "warmup"))));
        return new GroupAssignment(assigned);
    }

    private static Map<String, Set<Integer>> tasks(Map<?, ?> made, String kind) {
        Map<String, Set<Integer>> found = new HashMap<>();
        ((Map<?, ?>) made.get(kind)).forEach((subtopology, partitions) -> {
            Set<Integer> numbers = new HashSet<>();
            ((List<?>) partitions).forEach(each -> numbers.add(Values.number(each)));
            found.put((String) subtopology, numbers);
        });
        return found;
    }
}
