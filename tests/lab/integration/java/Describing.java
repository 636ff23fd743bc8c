import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.DescribeConsumerGroupsOptions;
import org.apache.kafka.clients.admin.DescribeStreamsGroupsOptions;
import org.apache.kafka.clients.admin.MemberDescription;
import org.apache.kafka.clients.admin.StreamsGroupDescription;
import org.apache.kafka.clients.admin.StreamsGroupMemberAssignment;
import org.apache.kafka.clients.admin.StreamsGroupMemberDescription;
import org.apache.kafka.clients.admin.StreamsGroupSubtopologyDescription;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;

/**
 * What Kafka's Admin describes of groups, as lines of JSON. Argument: the brokers; release 4.2 or later. Each line of
 * input has one line of output: "streams GROUP", "consumer GROUP", or "config GROUP NAME VALUE", which sets a
 * configuration of a group.
 */
public final class Describing {
    private Describing() {
    }

    public static void main(String[] arguments) {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", arguments[0]));
             Scanner lines = new Scanner(System.in)) {
            while (lines.hasNextLine()) {
                StringBuilder out = new StringBuilder("json ");
                try {
                    write(answer(admin, lines.nextLine().split(" ")), out);
                } catch (Exception error) {
                    write(Map.of("error", String.valueOf(error)), out);
                }
                System.out.println(out);
                System.out.flush();
            }
        }
    }

    private static Object answer(Admin admin, String[] words) throws Exception {
        List<String> groups = List.of(words[1]);
        switch (words[0]) {
            case "streams": return streams(admin.describeStreamsGroups(groups,
                new DescribeStreamsGroupsOptions().includeAuthorizedOperations(true)).all().get().get(words[1]));
            case "consumer": return consumer(admin.describeConsumerGroups(groups,
                new DescribeConsumerGroupsOptions().includeAuthorizedOperations(true)).all().get().get(words[1]));
            case "config": {
                ConfigResource group = new ConfigResource(ConfigResource.Type.GROUP, words[1]);
                AlterConfigOp set = new AlterConfigOp(new ConfigEntry(words[2], words[3]), AlterConfigOp.OpType.SET);
                admin.incrementalAlterConfigs(Map.of(group, List.of(set))).all().get();
                return Map.of();
            }
            default: throw new IllegalArgumentException(words[0]);
        }
    }

    private static Map<String, Object> streams(StreamsGroupDescription group) {
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("group", group.groupId());
        found.put("state", group.groupState().toString());
        found.put("epoch", group.groupEpoch());
        found.put("assignment_epoch", group.targetAssignmentEpoch());
        found.put("topology_epoch", group.topologyEpoch());
        found.put("coordinator", group.coordinator().host() + ":" + group.coordinator().port());
        found.put("authorized_operations", names(group.authorizedOperations()));
        Map<String, Object> subtopologies = new TreeMap<>();
        for (StreamsGroupSubtopologyDescription each : group.subtopologies()) {
            subtopologies.put(each.subtopologyId(), Map.of(
                "source_topics", each.sourceTopics(),
                "repartition_sink_topics", each.repartitionSinkTopics(),
                "repartition_source_topics", topics(each.repartitionSourceTopics()),
                "changelogs", topics(each.stateChangelogTopics())));
        }
        found.put("subtopologies", subtopologies);
        Map<String, Object> members = new TreeMap<>();
        group.members().forEach(each -> members.put(each.memberId(), member(each)));
        found.put("members", members);
        return found;
    }

    private static Map<String, Object> topics(Map<String, StreamsGroupSubtopologyDescription.TopicInfo> topics) {
        Map<String, Object> found = new TreeMap<>();
        topics.forEach((name, topic) -> found.put(name, Map.of(
            "partitions", topic.partitions(),
            "replication_factor", topic.replicationFactor(),
            "configs", topic.topicConfigs())));
        return found;
    }

    private static Map<String, Object> member(StreamsGroupMemberDescription member) {
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("epoch", member.memberEpoch());
        found.put("group_instance_id", member.instanceId().orElse(null));
        found.put("rack", member.rackId().orElse(null));
        found.put("client_id", member.clientId());
        found.put("host", member.clientHost());
        found.put("topology_epoch", member.topologyEpoch());
        found.put("process_id", member.processId());
        found.put("end_point", member.userEndpoint().map(each -> each.host() + ":" + each.port()).orElse(""));
        found.put("tags", member.clientTags());
        found.put("offset_sums", offsets(member.taskOffsets()));
        found.put("end_offset_sums", offsets(member.taskEndOffsets()));
        found.put("current", tasks(member.assignment()));
        found.put("target", tasks(member.targetAssignment()));
        found.put("is_classic", member.isClassic());
        return found;
    }

    private static Map<String, Object> offsets(Collection<StreamsGroupMemberDescription.TaskOffset> offsets) {
        Map<String, Object> found = new TreeMap<>();
        offsets.forEach(each -> found.put(each.subtopologyId() + "_" + each.partition(), each.offset()));
        return found;
    }

    private static Map<String, Object> tasks(StreamsGroupMemberAssignment assignment) {
        return Map.of("active", tasks(assignment.activeTasks()), "standby", tasks(assignment.standbyTasks()),
            "warm_up", tasks(assignment.warmupTasks()));
    }

    private static List<String> tasks(List<StreamsGroupMemberAssignment.TaskIds> subtopologies) {
        List<String> found = new ArrayList<>();
        subtopologies.forEach(each -> each.partitions()
            .forEach(partition -> found.add(each.subtopologyId() + "_" + partition)));
        return found;
    }

    private static Map<String, Object> consumer(ConsumerGroupDescription group) {
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("group", group.groupId());
        found.put("type", group.type().toString().toLowerCase());
        found.put("state", group.groupState().toString());
        found.put("protocol", group.partitionAssignor());
        found.put("epoch", group.groupEpoch().orElse(null));
        found.put("assignment_epoch", group.targetAssignmentEpoch().orElse(null));
        found.put("coordinator", group.coordinator().host() + ":" + group.coordinator().port());
        found.put("authorized_operations", names(group.authorizedOperations()));
        Map<String, Object> members = new TreeMap<>();
        for (MemberDescription each : group.members()) {
            Map<String, Object> member = new LinkedHashMap<>();
            member.put("epoch", each.memberEpoch().orElse(null));
            member.put("group_instance_id", each.groupInstanceId().orElse(null));
            member.put("rack", each.rackId().orElse(null));
            member.put("client_id", each.clientId());
            member.put("host", each.host());
            member.put("is_classic", each.upgraded().map(upgraded -> !upgraded).orElse(null));
            member.put("current", partitions(each.assignment().topicPartitions()));
            member.put("target", each.targetAssignment().map(it -> partitions(it.topicPartitions())).orElse(null));
            members.put(each.consumerId(), member);
        }
        found.put("members", members);
        return found;
    }

    private static List<String> partitions(Collection<TopicPartition> partitions) {
        return partitions.stream().map(TopicPartition::toString).sorted().collect(Collectors.toList());
    }

    private static Collection<String> names(Collection<?> values) {
        TreeSet<String> found = new TreeSet<>();
        values.forEach(each -> found.add(each.toString()));
        return found;
    }

    private static void write(Object value, StringBuilder out) {
        String separator = "";
        if (value instanceof Map) {
            out.append('{');
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
                write(String.valueOf(entry.getKey()), out.append(separator));
                write(entry.getValue(), out.append(':'));
                separator = ",";
            }
            out.append('}');
        } else if (value instanceof Collection) {
            out.append('[');
            for (Object item : (Collection<?>) value) {
                write(item, out.append(separator));
                separator = ",";
            }
            out.append(']');
        } else if (value instanceof String) {
            out.append('"').append(((String) value).replace("\\", "\\\\").replace("\"", "\\\"")).append('"');
        } else {
            out.append(value);
        }
    }
}
