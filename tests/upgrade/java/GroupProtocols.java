import java.util.HashMap;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.common.requests.ConsumerGroupHeartbeatRequest;
import org.apache.kafka.coordinator.group.GroupCoordinatorConfig;
import org.apache.kafka.streams.StreamsConfig;

/** Prints what clients and brokers make of group.protocol=consumer (KIP-848): a name, a tab and what comes of it. */
public final class GroupProtocols {
    private static final String BYTES = "org.apache.kafka.common.serialization.ByteArrayDeserializer";

    private GroupProtocols() {
    }

    private static void print(String name, Supplier<Object> value) {
        String text;
        try {
            text = String.valueOf(value.get());
        } catch (RuntimeException e) {
            text = e.getMessage();
        }
        System.out.println(name + "\t" + text);
    }

    private static Object consumer(String... setting) {
        Map<String, Object> settings = new HashMap<>(Map.of(
            "bootstrap.servers", "localhost:1", "group.id", "orders", "group.protocol", "consumer",
            "key.deserializer", BYTES, "value.deserializer", BYTES));
        settings.put(setting[0], setting[1]);
        return new ConsumerConfig(settings).getString("group.protocol");
    }

    private static Object streams() {
        Map<String, Object> settings = Map.of(
            "bootstrap.servers", "localhost:1", "application.id", "orders", "group.protocol", "consumer");
        return new StreamsConfig(settings).getMainConsumerConfigs("orders", "a", 0).get("group.protocol");
    }

    public static void main(String[] none) throws Exception {
        print("session.timeout.ms", () -> consumer("session.timeout.ms", "7000"));
        print("heartbeat.interval.ms", () -> consumer("heartbeat.interval.ms", "500"));
        print("partition.assignment.strategy",
            () -> consumer("partition.assignment.strategy", "org.apache.kafka.clients.consumer.RangeAssignor"));
        print("group.remote.assignor", () -> consumer("group.remote.assignor", "range"));
        print("group.instance.id", () -> consumer("group.instance.id", "one"));
        print("client.rack", () -> consumer("client.rack", "east"));
        print("Kafka Streams", GroupProtocols::streams);
        print("patterns", Consumer.class.getMethod("subscribe", SubscriptionPattern.class)::getName);
        print("closed", () -> ConsumerGroupHeartbeatRequest.LEAVE_GROUP_MEMBER_EPOCH);
        print("static, closed", () -> ConsumerGroupHeartbeatRequest.LEAVE_GROUP_STATIC_MEMBER_EPOCH);
        print("group.consumer.assignors", () -> GroupCoordinatorConfig.CONSUMER_GROUP_ASSIGNORS_DEFAULT);
        print("group.consumer.migration.policy", () -> GroupCoordinatorConfig.CONSUMER_GROUP_MIGRATION_POLICY_DEFAULT);
    }
}
