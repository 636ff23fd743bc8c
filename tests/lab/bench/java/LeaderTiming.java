import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.DescribeTopicsResult;
import org.apache.kafka.clients.admin.ListOffsetsResult;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.internals.InternalTopologyBuilder;
import org.apache.kafka.streams.processor.internals.StreamsMetadataState;
import org.apache.kafka.streams.processor.internals.StreamsPartitionAssignor;
import org.apache.kafka.streams.processor.internals.TaskManager;
import org.apache.kafka.streams.processor.internals.TopologyMetadata;
import org.apache.kafka.streams.processor.internals.assignment.AssignmentInfo;
import org.apache.kafka.streams.processor.internals.assignment.ReferenceContainer;
import org.apache.kafka.streams.state.Stores;

/**
 * The leader step of kafka-streams 4.x, bytes in to bytes out: a line of JSON in (a group), a line out.
 *
 * A group has "config", "subtopologies", "partitions" (of each topic), "endOffset" (of each changelog partition),
 * "racks" ({topic: [[rack]]}), "subscriptions" ({member: hex}), and how many calls to "discard" and to "measure". The
 * admin client answers from memory. Times are of one thread: the CPU time of the calling thread, without compilers and
 * garbage collectors, and elapsed time. The answer has the tasks of each member and, if "bytes", all bytes in hex.
 */
public final class LeaderTiming {
    private final Map<?, ?> group;
    private final Map<String, byte[]> subscriptions = new LinkedHashMap<>();
    private final Map<String, Node> nodes = new HashMap<>();
    private final Map<String, List<TopicPartitionInfo>> topics = new HashMap<>();
    private final StreamsPartitionAssignor assignor = new StreamsPartitionAssignor();
    private final Cluster cluster;

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err); // whatever the jar wants to say
        BufferedReader groups = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = groups.readLine(); line != null; line = groups.readLine()) {
            answers.println(Json.write(new LeaderTiming((Map<?, ?>) Json.read(line)).answer()));
            answers.flush();
        }
    }

    private LeaderTiming(Map<?, ?> group) throws ReflectiveOperationException {
        this.group = group;
        ((Map<?, ?>) group.get("subscriptions")).forEach(
            (member, hex) -> subscriptions.put((String) member, HexFormat.of().parseHex((String) hex)));
        List<PartitionInfo> sources = new ArrayList<>();
        ((Map<?, ?>) group.get("racks")).forEach((topic, racks) -> {
            List<TopicPartitionInfo> infos = new ArrayList<>();
            for (Object replicas : (List<?>) racks) {
                List<Node> brokers = new ArrayList<>();
                ((List<?>) replicas).forEach(rack -> brokers.add(nodes.computeIfAbsent(
                    (String) rack, name -> new Node(nodes.size(), "localhost", 9092, name))));
                Node[] array = brokers.toArray(Node[]::new);
                if (((String) topic).startsWith("input")) {
                    sources.add(new PartitionInfo((String) topic, infos.size(), array[0], array, array));
                }
                infos.add(new TopicPartitionInfo(infos.size(), array[0], brokers, brokers));
            }
            topics.put((String) topic, infos);
        });
        cluster = new Cluster("cluster", nodes.values(), sources, Set.of(), Set.of());
        assignor.configure(config());
    }

    private Map<String, Object> answer() {
        List<Object> cpu = new ArrayList<>();
        List<Object> elapsed = new ArrayList<>();
        Map<String, ByteBuffer> assignments = null;
        long discard = number("discard");
        long calls = discard + number("measure");
        for (long call = 0; call < calls; call++) {
            assignments = null; // for the garbage collector
            long begunCpu = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
            long begun = System.nanoTime();
            assignments = assign();
            if (call >= discard) {
                elapsed.add(System.nanoTime() - begun);
                cpu.add(ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - begunCpu);
            }
        }
        Map<String, Object> members = new LinkedHashMap<>();
        Map<String, Object> bytes = new LinkedHashMap<>();
        assignments.forEach((member, encoded) -> {
            byte[] array = new byte[encoded.remaining()];
            encoded.duplicate().get(array);
            bytes.put(member, HexFormat.of().formatHex(array));
            AssignmentInfo info = AssignmentInfo.decode(ConsumerProtocol.deserializeAssignment(encoded).userData());
            List<Object> active = new ArrayList<>();
            info.activeTasks().forEach(task -> active.add(task.toString()));
            List<Object> standby = new ArrayList<>();
            info.standbyTasks().keySet().stream().sorted().forEach(task -> standby.add(task.toString()));
            members.put(member, List.of(active, standby));
        });
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("cpu", cpu);
        answer.put("elapsed", elapsed);
        answer.put("members", members);
        if ((Boolean) group.get("bytes")) {
            answer.put("assignments", bytes);
        }
        return answer;
    }

    /** What `ConsumerCoordinator.onLeaderElected` does: decode, assign, encode. */
    private Map<String, ByteBuffer> assign() {
        Map<String, Subscription> decoded = new HashMap<>();
        subscriptions.forEach((member, encoded) ->
            decoded.put(member, ConsumerProtocol.deserializeSubscription(ByteBuffer.wrap(encoded))));
        Map<String, ByteBuffer> encoded = new HashMap<>();
        Map<String, Assignment> assignments =
            assignor.assign(cluster, new GroupSubscription(decoded)).groupAssignment();
        assignments.forEach((member, each) -> encoded.put(member, ConsumerProtocol.serializeAssignment(each)));
        return encoded;
    }

    private Map<String, Object> config() throws ReflectiveOperationException {
        Map<String, Object> config = new HashMap<>();
        ((Map<?, ?>) group.get("config")).forEach(
            (key, value) -> config.put((String) key, value instanceof Number ? String.valueOf(value) : value));
        config.put("application.id", "app");
        config.put("bootstrap.servers", "localhost:9092");
        StreamsConfig streams = new StreamsConfig(config);
        ReferenceContainer references = new ReferenceContainer();
        references.adminClient = (Admin) proxy(Admin.class);
        references.mainConsumer = (Consumer<byte[], byte[]>) proxy(Consumer.class);
        references.time = Time.SYSTEM;
        references.clientTags = streams.getClientTags();
        TopologyMetadata metadata = topologyMetadata(streams);
        references.taskManager = taskManager(metadata, references.adminClient);
        references.streamsMetadataState = new StreamsMetadataState(metadata, null, new LogContext());
        config.put(StreamsConfig.InternalConfig.REFERENCE_CONTAINER_PARTITION_ASSIGNOR, references);
        return config;
    }

    private TopologyMetadata topologyMetadata(StreamsConfig streams) throws ReflectiveOperationException {
        Field field = Topology.class.getDeclaredField("internalTopologyBuilder");
        field.setAccessible(true);
        TopologyMetadata metadata = new TopologyMetadata((InternalTopologyBuilder) field.get(topology()), streams);
        metadata.buildAndRewriteTopology();
        return metadata;
    }

    private static TaskManager taskManager(TopologyMetadata metadata, Admin admin)
            throws ReflectiveOperationException {
        for (Constructor<?> constructor : TaskManager.class.getDeclaredConstructors()) {
            Object[] given = new Object[constructor.getParameterCount()];
            for (int at = 0; at < given.length; at++) {
                Class<?> type = constructor.getParameterTypes()[at];
                given[at] = type == Time.class ? Time.SYSTEM
                    : type == ProcessId.class ? new ProcessId(new UUID(0, 1))
                    : type == String.class ? "leader"
                    : type == TopologyMetadata.class ? metadata
                    : type == Admin.class ? admin
                    : null;
            }
            constructor.setAccessible(true);
            return (TaskManager) constructor.newInstance(given);
        }
        throw new NoSuchMethodException("TaskManager");
    }

    private Topology topology() {
        Topology topology = new Topology();
        for (long number = 0; number < number("subtopologies"); number++) {
            String digits = String.format("%03d", number);
            topology.addSource("source-" + digits, "input-" + digits);
            topology.addProcessor("processor-" + digits, Nothing::new, "source-" + digits);
            topology.addStateStore(Stores.keyValueStoreBuilder(Stores.inMemoryKeyValueStore("store-" + digits),
                Serdes.String(), Serdes.String()), "processor-" + digits);
        }
        return topology;
    }

    private static final class Nothing implements Processor<Object, Object, Object, Object> {
        @Override
        public void process(Record<Object, Object> record) {
        }
    }

    /** An admin client or a consumer that answers from memory. */
    private Object proxy(Class<?> type) {
        return Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (self, method, arguments) ->
            switch (method.getName()) {
                case "listOffsets" -> ends((Map<?, ?>) arguments[0]);
                case "describeTopics" -> described((Collection<?>) arguments[0]);
                case "committed" -> Map.of();
                case "toString" -> type.getSimpleName();
                case "hashCode" -> System.identityHashCode(self);
                default -> throw new UnsupportedOperationException(method.toString());
            });
    }

    private ListOffsetsResult ends(Map<?, ?> partitions) {
        Map<TopicPartition, KafkaFuture<ListOffsetsResult.ListOffsetsResultInfo>> found = new HashMap<>();
        partitions.keySet().forEach(partition -> found.put((TopicPartition) partition, KafkaFuture.completedFuture(
            new ListOffsetsResult.ListOffsetsResultInfo(number("endOffset"), 0, Optional.empty()))));
        return new ListOffsetsResult(found);
    }

    private Object described(Collection<?> names) throws ReflectiveOperationException {
        Map<String, KafkaFuture<TopicDescription>> found = new HashMap<>();
        names.forEach(name -> found.put((String) name, KafkaFuture.completedFuture(
            new TopicDescription((String) name, false, topics.get(name)))));
        Constructor<DescribeTopicsResult> constructor =
            DescribeTopicsResult.class.getDeclaredConstructor(Map.class, Map.class);
        constructor.setAccessible(true);
        return constructor.newInstance((Map<Uuid, ?>) null, found);
    }

    private long number(String key) {
        return ((Number) group.get(key)).longValue();
    }
}
