import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Supplier;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupAssignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.streams.errors.StreamsException;
import org.apache.kafka.streams.processor.assignment.AssignmentConfigs;
import org.apache.kafka.streams.processor.internals.ClientUtils;
import org.apache.kafka.streams.processor.internals.InternalTopicConfig;
import org.apache.kafka.streams.processor.internals.InternalTopicManager;
import org.apache.kafka.streams.processor.internals.InternalTopologyBuilder.TopicsInfo;
import org.apache.kafka.streams.processor.internals.TopologyMetadata;
import org.apache.kafka.streams.processor.internals.TopologyMetadata.Subtopology;

/**
 * StreamsPartitionAssignor.assign (3.8 and later): topology, cluster and the bytes of all subscriptions go to Python's
 * leader, and the bytes of all assignments come back.
 *
 * Java keeps what needs a cluster: it creates the internal topics that Python has planned, and looks offsets and racks
 * up.
 */
final class Leader {
    private static final String[] ERRORS = {
        "org.apache.kafka.streams.errors.", "org.apache.kafka.common.errors.", "java.lang."};

    private final Object assignor;
    private final Cluster cluster;
    private final Map<Subtopology, TopicsInfo> subtopologies;
    private final InternalTopicManager topics;
    private final AssignmentConfigs configs;
    private final Map<String, Object> question = new LinkedHashMap<>();
    private final Map<String, Object> partitions = new TreeMap<>();

    private Leader(Object assignor, Cluster cluster) {
        this.assignor = assignor;
        this.cluster = cluster;
        topics = (InternalTopicManager) Values.get(assignor, "internalTopicManager");
        configs = (AssignmentConfigs) Values.get(assignor, "assignmentConfigs");
        Object manager = Values.get(assignor, "taskManager");
        TopologyMetadata topology = (TopologyMetadata) Values.get(manager, "topologyMetadata");
        subtopologies = new TreeMap<>(topology.subtopologyTopicsInfoMapExcluding(Collections.emptySet()));
        cluster.topics().forEach(topic -> partitions.put(topic, cluster.partitionCountForTopic(topic)));
        question.put("subtopologies", subtopologies());
        question.put("copartitionGroups", Values.plain(topology.copartitionGroups()));
        question.put("partitions", partitions);
        question.put("processId", Values.plain(Values.get(manager, "processId")));
    }

    static Object assign(Object self, Object[] arguments) throws Exception {
        Leader leader = new Leader(self, (Cluster) arguments[0]);
        leader.describeSettings();
        leader.createTopics();
        leader.lookUpOffsets();
        leader.lookUpRacks();
        return leader.assignment((GroupSubscription) arguments[1]);
    }

    private List<Object> subtopologies() {
        List<Object> rows = Values.list();
        subtopologies.forEach((subtopology, info) -> {
            if ((Integer) Values.get(subtopology, "nodeGroupId") != rows.size()) {
                throw new UnsupportedOperationException("not bridged: subtopologies without sources have numbers, too");
            }
            if (Values.get(subtopology, "namedTopology") != null) {
                throw new UnsupportedOperationException("not bridged: a named topology");
            }
            Set<String> sources = new HashSet<>(info.sourceTopics);
            sources.removeAll(info.repartitionSourceTopics.keySet());
            Map<String, Object> counts = new TreeMap<>();
            info.repartitionSourceTopics.forEach((topic, config) -> {
                if (config.hasEnforcedNumberOfPartitions()) {
                    counts.put(topic, config.numberOfPartitions().get());
                }
            });
            rows.add(Map.of(
                "sources", sources, "repartitionSources", info.repartitionSourceTopics.keySet(),
                "sinks", info.sinkTopics, "changelogs", info.stateChangelogTopics.keySet(), "counts", counts));
        });
        return rows;
    }

    private void describeSettings() {
        Object custom = ((Optional<?>) supplied("customTaskAssignorSupplier")).orElse(null);
        Object chosen = custom == null ? supplied("legacyTaskAssignorSupplier") : custom;
        String name = switch (chosen.getClass().getSimpleName()) {
            case "HighAvailabilityTaskAssignor" -> "high-availability";
            case "LegacyStickyTaskAssignor", "StickyTaskAssignor" -> "sticky";
            case "FallbackPriorTaskAssignor" -> "fallback-prior";
            default -> throw new UnsupportedOperationException("not bridged: a task assignor of the test");
        };
        question.put("assignor", name);
        Map<String, Object> settings = new LinkedHashMap<>();
        settings.put("acceptable.recovery.lag", configs.acceptableRecoveryLag());
        settings.put("max.warmup.replicas", configs.maxWarmupReplicas());
        settings.put("num.standby.replicas", configs.numStandbyReplicas());
        settings.put("probing.rebalance.interval.ms", configs.probingRebalanceIntervalMs());
        settings.put("rack.aware.assignment.tags", configs.rackAwareAssignmentTags());
        settings.put("rack.aware.assignment.strategy", configs.rackAwareAssignmentStrategy());
        settings.put("rack.aware.assignment.traffic_cost", Values.plain(configs.rackAwareTrafficCost()));
        settings.put("rack.aware.assignment.non_overlap_cost", Values.plain(configs.rackAwareNonOverlapCost()));
        question.put("settings", settings);
        question.put("now", ((Time) Values.get(assignor, "time")).milliseconds());
    }

    private Object supplied(String supplier) {
        return ((Supplier<?>) Values.get(assignor, supplier)).get();
    }

    /** Creates what Python has planned; a changelog that is there already has offsets. */
    private void createTopics() {
        Map<?, ?> plan = Bridge.ask("plan topics", question);
        if (plan.containsKey("refused")) {
            return; // the leader refuses the same, or sends an error code
        }
        Map<String, InternalTopicConfig> repartition = new HashMap<>();
        Map<String, InternalTopicConfig> changelogs = new HashMap<>();
        for (TopicsInfo info : subtopologies.values()) {
            repartition.putAll(counted(info.repartitionSourceTopics, (Map<?, ?>) plan.get("repartition")));
            changelogs.putAll(counted(info.stateChangelogTopics, (Map<?, ?>) plan.get("changelogs")));
        }
        topics.makeReady(repartition);
        Set<String> created = topics.makeReady(changelogs);
        changelogs.forEach((topic, config) -> {
            if (!created.contains(topic)) {
                partitions.put(topic, config.numberOfPartitions().get());
            }
        });
    }

    private static Map<String, InternalTopicConfig> counted(Map<String, InternalTopicConfig> configs, Map<?, ?> counts) {
        Map<String, InternalTopicConfig> found = new HashMap<>();
        configs.forEach((topic, config) -> {
            if (counts.containsKey(topic)) {
                if (!config.hasEnforcedNumberOfPartitions()) {
                    config.setNumberOfPartitions(Values.number(counts.get(topic)));
                }
                found.put(topic, config);
            }
        });
        return found;
    }

    @SuppressWarnings("unchecked")
    private void lookUpOffsets() {
        Map<?, ?> required = Bridge.ask("required offsets", question);
        if (required.containsKey("refused")) {
            return;
        }
        Set<TopicPartition> changelogs = Values.partitions(required.get("changelogs"));
        Set<TopicPartition> sources = Values.partitions(required.get("sourceChangelogs"));
        List<Object> rows = Values.list();
        try {
            var asked = ClientUtils.fetchEndOffsetsResult(changelogs, (Admin) Values.get(assignor, "adminClient"));
            var consumer = (Consumer<byte[], byte[]>) supplied("mainConsumerSupplier");
            ClientUtils.fetchCommittedOffsets(sources, consumer).forEach((partition, offset) ->
                rows.add(Values.list(partition.topic(), partition.partition(), offset)));
            ClientUtils.getEndOffsets(asked, changelogs).forEach((partition, offset) ->
                rows.add(Values.list(partition.topic(), partition.partition(), offset.offset())));
            question.put("endOffsets", rows);
        } catch (StreamsException | TimeoutException failure) {
            question.put("endOffsets", null);
        }
    }

    private void lookUpRacks() {
        List<Object> rows = Values.list();
        if (!configs.rackAwareAssignmentStrategy().equals("none")) {
            boolean known = true;
            for (String topic : cluster.topics()) {
                for (PartitionInfo each : cluster.partitionsForTopic(topic)) {
                    List<Object> racks = racks(List.of(each.replicas()));
                    rows.add(Values.list(topic, each.partition(), racks));
                    known &= !racks.isEmpty() && !racks.contains(null);
                }
            }
            if (!known || configs.numStandbyReplicas() == 0) {
                question.put("racks", rows);
                return; // as Kafka, which needs the racks of changelogs for standbys only
            }
            Set<String> changelogs = new HashSet<>();
            subtopologies.values().forEach(info -> changelogs.addAll(info.stateChangelogTopics.keySet()));
            changelogs.removeAll(cluster.topics());
            topics.getTopicPartitionInfo(changelogs).forEach((topic, found) -> found.forEach(each ->
                rows.add(Values.list(topic, each.partition(), racks(each.replicas())))));
        }
        question.put("racks", rows);
    }

    private static List<Object> racks(Collection<Node> replicas) {
        return Values.list(replicas.stream().map(Node::rack).toArray());
    }

    private GroupAssignment assignment(GroupSubscription group) throws Exception {
        Map<String, Object> subscriptions = new TreeMap<>();
        group.groupSubscription().forEach((member, subscription) -> {
            subscription.userData().rewind(); // as SubscriptionInfo.decode does
            subscriptions.put(member, hex(ConsumerProtocol.serializeSubscription(subscription)));
        });
        question.put("subscriptions", subscriptions);
        Map<?, ?> answer = Bridge.ask("assign group", question);
        if (answer.containsKey("refused")) {
            throw failure((String) answer.get("exception"), (String) answer.get("refused"));
        }
        Map<String, Assignment> assignments = new HashMap<>();
        ((Map<?, ?>) answer.get("assignments")).forEach((member, hex) -> assignments.put(
            (String) member,
            ConsumerProtocol.deserializeAssignment(ByteBuffer.wrap(HexFormat.of().parseHex((String) hex)))));
        return new GroupAssignment(assignments);
    }

    private static String hex(ByteBuffer bytes) {
        byte[] content = new byte[bytes.remaining()];
        bytes.get(content);
        return HexFormat.of().formatHex(content);
    }

    /** The exception that Python's leader says Kafka throws. */
    private static Exception failure(String name, String message) throws ReflectiveOperationException {
        for (String folder : ERRORS) {
            try {
                return (Exception) Class.forName(folder + name).getConstructor(String.class).newInstance(message);
            } catch (ClassNotFoundException elsewhere) {
                continue;
            }
        }
        return new IllegalStateException(name + ": " + message);
    }
}
