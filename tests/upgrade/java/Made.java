import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.ConcurrentModificationException;
import java.util.Deque;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerInterceptor;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Partitioner;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerInterceptor;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.MetricsReporter;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;

/**
 * The objects that a member makes of its settings. Each line of the file is KEY=VALUE, the first one is empty. Of that
 * it prints "\tCLIENT NAME\tVALUE": the configuration of each client, the classes of Kafka's plugins in it, and whether
 * a store is on disk. Of each other line it prints what differs from that, as "KEY=VALUE\tCLIENT NAME\tVALUE".
 * "member refused" has the exception of a member that is not made.
 */
public class Made {
    private static final String[] PLUGINS = {
        "common.metrics.MetricsReporter", "clients.consumer.ConsumerInterceptor", "clients.producer.ProducerInterceptor",
        "clients.producer.Partitioner", "clients.consumer.ConsumerPartitionAssignor",
        "clients.consumer.internals.PartitionAssignor", "common.serialization.Serde",
        "common.security.auth.SecurityProviderCreator", "streams.KafkaClientSupplier",
        "streams.errors.DeserializationExceptionHandler", "streams.errors.ProductionExceptionHandler",
        "streams.errors.ProcessingExceptionHandler", "streams.processor.TimestampExtractor",
    };
    private static final String UUID = "\\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\\b";
    private static String folder;
    private static String directory = "";
    private static int number;
    private static final List<Class<?>> plugins = new ArrayList<>();
    private static Map<String, Set<String>> made;

    public static void main(String[] arguments) throws Exception {
        for (String name : PLUGINS) {
            try {
                plugins.add(Class.forName("org.apache.kafka." + name));
            } catch (ClassNotFoundException later) {
                continue;
            }
        }
        folder = arguments[0] + ".states";
        Map<String, String> first = null;
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            made = new TreeMap<>();
            try {
                make(line);
            } catch (Throwable refused) {
                Throwable cause = refused;
                while (cause.getCause() != null) cause = cause.getCause();
                made.clear();
                note("member", "refused", cause.getClass().getSimpleName() + " " + cause.getMessage());
            }
            Map<String, String> shown = new TreeMap<>();
            made.forEach((name, values) -> shown.put(name, String.join(",", values).replaceAll("\\s+", " ")));
            Set<String> names = new TreeSet<>(shown.keySet());
            if (first != null && !shown.containsKey("member refused")) names.addAll(first.keySet());
            for (String name : names) {
                String value = shown.getOrDefault(name, "(none)");
                if (first == null || !value.equals(first.get(name))) System.out.println(line + "\t" + name + "\t" + value);
            }
            if (first == null) first = shown;
        }
        System.exit(0);
    }

    private static void note(String client, String name, Object value) {
        String text = String.valueOf(value).replaceAll(UUID, "UUID").replaceAll("Thread-\\d+", "Thread-1");
        made.computeIfAbsent(client + " " + name, absent -> new TreeSet<>()).add(text.replace(directory, "DIRECTORY"));
    }

    private static void make(String line) throws Exception {
        Properties properties = new Properties();
        properties.put("application.id", "made");
        properties.put("bootstrap.servers", "localhost:1");
        properties.put("state.dir", directory = folder + "/" + number++); // a member has its own
        int end = line.indexOf('=');
        if (end > 0) properties.put(line.substring(0, end), line.substring(end + 1));
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream("in").groupByKey().count();
        Topology topology = builder.build();
        Clients clients = new Clients();
        Class<?> supplier = Class.forName("org.apache.kafka.streams.KafkaClientSupplier");
        Object proxy = Proxy.newProxyInstance(Made.class.getClassLoader(), new Class<?>[] {supplier}, clients);
        StreamsConfig config = new StreamsConfig(properties);
        config(config, "streams");
        try {
            KafkaStreams streams;
            try {
                Constructor<?> of = KafkaStreams.class.getConstructor(Topology.class, Properties.class, supplier);
                streams = (KafkaStreams) of.newInstance(topology, properties, proxy);
            } catch (NoSuchMethodException older) {
                Constructor<?> of = KafkaStreams.class.getConstructor(Topology.class, StreamsConfig.class, supplier);
                streams = (KafkaStreams) of.newInstance(topology, config, proxy);
            }
            walk("streams", streams);
            stores(topology);
        } finally {
            for (Object each : clients.made) close(each);
        }
    }

    private static void close(Object client) throws Exception {
        try {
            client.getClass().getMethod("close", Duration.class).invoke(client, Duration.ZERO);
        } catch (NoSuchMethodException older) {
            client.getClass().getMethod("close", long.class, TimeUnit.class).invoke(client, 0L, TimeUnit.MILLISECONDS);
        }
    }

    private static AbstractConfig of(Class<? extends AbstractConfig> type, Map<String, Object> passed) throws Exception {
        Constructor<? extends AbstractConfig> made = type.getDeclaredConstructor(Map.class); // not public before 2.0
        made.setAccessible(true);
        return made.newInstance(passed);
    }

    private static void config(AbstractConfig config, String client) {
        config.values().forEach((key, value) -> note(client, key, text(value)));
    }

    private static String text(Object value) {
        if (value instanceof Class) return ((Class<?>) value).getName();
        return value == null ? "null" : value.getClass().isArray() || value.toString().contains("@")
            ? value.getClass().getName() : value.toString();
    }

    /** The clients of a member, with what Streams passes to them. */
    private static class Clients implements InvocationHandler {
        final List<Object> made = new ArrayList<>();

        public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
            String name = method.getName();
            if (!name.startsWith("get")) return name.equals("equals") ? (Object) false : name.equals("hashCode") ? 0 : name;
            Map<String, Object> passed = new HashMap<>((Map<String, Object>) arguments[0]);
            String client = name.equals("getConsumer") ? "main.consumer" : name.equals("getRestoreConsumer")
                ? "restore.consumer" : name.equals("getGlobalConsumer") ? "global.consumer"
                : name.equals("getProducer") ? "producer" : "admin";
            Object object;
            if (client.endsWith("consumer")) {
                String deserializer = "org.apache.kafka.common.serialization.ByteArrayDeserializer";
                passed.put("key.deserializer", deserializer);
                passed.put("value.deserializer", deserializer);
                config(of(ConsumerConfig.class, passed), client);
                object = new KafkaConsumer<byte[], byte[]>(passed);
            } else if (client.equals("producer")) {
                String serializer = "org.apache.kafka.common.serialization.ByteArraySerializer";
                passed.put("key.serializer", serializer);
                passed.put("value.serializer", serializer);
                config(of(ProducerConfig.class, passed), client);
                object = new KafkaProducer<byte[], byte[]>(passed);
            } else {
                config(of(AdminClientConfig.class, passed), client);
                Class<?> admin = Class.forName("org.apache.kafka.clients.admin.AdminClient");
                object = admin.getMethod("create", Map.class).invoke(null, passed);
            }
            made.add(object);
            walk(client, object);
            return object;
        }
    }

    /** Notes the plugins that an object of Kafka's can reach: not those of the clients of a member, which are apart. */
    private static void walk(String client, Object start) throws Exception {
        Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        Deque<Object> waiting = new ArrayDeque<>(List.of(start));
        while (!waiting.isEmpty()) {
            Object object = waiting.poll();
            if (!seen.add(object)) continue;
            for (Class<?> plugin : plugins)
                if (plugin.isInstance(object)) note(client, object.getClass().getName(), plugin.getSimpleName());
            if (object instanceof Collection) copied((Collection<?>) object).forEach(each -> add(waiting, each));
            else if (object instanceof Map) copied(((Map<?, ?>) object).values()).forEach(each -> add(waiting, each));
            else if (object instanceof Object[]) for (Object each : (Object[]) object) add(waiting, each);
            else fields(object, waiting, client.equals("streams"));
        }
    }

    private static List<Object> copied(Collection<?> collection) {
        while (true) {
            try {
                return new ArrayList<>(collection);
            } catch (ConcurrentModificationException | ArrayIndexOutOfBoundsException changed) {
                continue; // the threads of clients run already
            }
        }
    }

    private static void fields(Object object, Deque<Object> waiting, boolean isOfStreams) throws Exception {
        for (Class<?> type = object.getClass(); type != null; type = type.getSuperclass()) {
            if (!type.getName().startsWith("org.apache.kafka.")) continue;
            if (type.getName().startsWith("org.apache.kafka.streams.") && !isOfStreams) continue;
            for (Field each : type.getDeclaredFields()) {
                if (Modifier.isStatic(each.getModifiers()) || each.getType().isPrimitive()) continue;
                each.setAccessible(true);
                add(waiting, each.get(object));
            }
        }
    }

    private static void add(Deque<Object> waiting, Object object) {
        boolean isClient = object instanceof KafkaConsumer || object instanceof KafkaProducer
            || object != null && object.getClass().getSimpleName().equals("KafkaAdminClient");
        boolean isWalked = object instanceof Collection || object instanceof Map || object instanceof Object[]
            || object != null && object.getClass().getName().startsWith("org.apache.kafka.")
            || object != null && plugins.stream().anyMatch(each -> each.isInstance(object));
        if (isWalked && !isClient) waiting.add(object);
    }

    private static void stores(Topology topology) throws Exception {
        Field inner = Topology.class.getDeclaredField("internalTopologyBuilder");
        inner.setAccessible(true);
        Object builder = inner.get(topology);
        for (String name : new String[] {"buildTopology", "build"}) {
            try {
                Method build = builder.getClass().getMethod(name);
                Object built = build.invoke(builder);
                Method stores = built.getClass().getMethod("stateStores");
                stores.setAccessible(true);
                for (Object store : (List<?>) stores.invoke(built)) {
                    boolean isOnDisk = ((org.apache.kafka.streams.processor.StateStore) store).persistent();
                    note("streams", "store", isOnDisk ? "on disk" : "in memory");
                }
                return;
            } catch (NoSuchMethodException other) {
                continue;
            }
        }
    }

    public static class Reporter implements MetricsReporter {
        public void init(List<KafkaMetric> metrics) { }
        public void metricChange(KafkaMetric metric) { }
        public void metricRemoval(KafkaMetric metric) { }
        public void close() { }
        public void configure(Map<String, ?> configs) { }
    }

    public static class OfConsumer implements ConsumerInterceptor<byte[], byte[]> {
        public ConsumerRecords<byte[], byte[]> onConsume(ConsumerRecords<byte[], byte[]> records) { return records; }
        public void onCommit(Map<TopicPartition, OffsetAndMetadata> offsets) { }
        public void close() { }
        public void configure(Map<String, ?> configs) { }
    }

    public static class OfProducer implements ProducerInterceptor<byte[], byte[]> {
        public ProducerRecord<byte[], byte[]> onSend(ProducerRecord<byte[], byte[]> record) { return record; }
        public void onAcknowledgement(RecordMetadata metadata, Exception exception) { }
        public void close() { }
        public void configure(Map<String, ?> configs) { }
    }

    public static class First implements Partitioner {
        public int partition(String topic, Object key, byte[] keys, Object value, byte[] values, Cluster cluster) {
            return 0;
        }
        public void close() { }
        public void configure(Map<String, ?> configs) { }
    }
}
