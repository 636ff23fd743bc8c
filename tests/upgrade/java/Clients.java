import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.streams.StreamsConfig;

/**
 * What the configuration of Streams becomes in its clients: "streams NAME VALUE" and "producer NAME VALUE" for some
 * defaults, "serde ..." for the default serde, "commit.interval.ms ..." for one of more than 10 s with exactly-once,
 * "request NAME VERSION" for the newest of two requests, "class NAME ..." for a class, and "NAME=VALUE ..." for each
 * argument; the dots are OK or an exception with its message.
 */
public class Clients {
    interface Action {
        void run() throws Exception;
    }

    static void report(String what, Action action) {
        String outcome = "OK";
        try {
            action.run();
        } catch (Exception refused) {
            Throwable cause = refused.getCause() == null ? refused : refused.getCause();
            outcome = cause.getClass().getSimpleName() + " " + cause.getMessage();
        }
        System.out.println(what + " " + outcome);
    }

    static StreamsConfig streams(String... setting) {
        Properties given = new Properties();
        given.put(StreamsConfig.APPLICATION_ID_CONFIG, "a");
        given.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "localhost:9092");
        for (int place = 0; place < setting.length; place += 2) {
            given.put(setting[place], setting[place + 1]);
        }
        return new StreamsConfig(given);
    }

    static ProducerConfig producer(StreamsConfig config) {
        Map<String, Object> values = config.getProducerConfigs("a");
        values.put("key.serializer", "org.apache.kafka.common.serialization.ByteArraySerializer");
        values.put("value.serializer", "org.apache.kafka.common.serialization.ByteArraySerializer");
        return new ProducerConfig(values);
    }

    static ConsumerConfig consumer(StreamsConfig config) {
        Map<String, Object> values = config.getMainConsumerConfigs("a", "a", 0);
        values.put("key.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        values.put("value.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        return new ConsumerConfig(values);
    }

    static void connect(AbstractConfig config) throws Exception {
        Class<?> utils = Class.forName("org.apache.kafka.clients.ClientUtils");
        try {
            utils.getMethod("parseAndValidateAddresses", AbstractConfig.class).invoke(null, config);
        } catch (NoSuchMethodException older) {
            utils.getMethod("parseAndValidateAddresses", java.util.List.class, String.class)
                .invoke(null, config.getList("bootstrap.servers"), "use_all_dns_ips");
        }
    }

    public static void main(String[] settings) {
        System.setProperty("java.io.tmpdir", "/elsewhere");
        for (String name : new String[] {"replication.factor", "state.dir"}) {
            System.out.println("streams " + name + " " + streams().values().get(name));
        }
        ProducerConfig exactlyOnce = producer(streams("processing.guarantee", settings[0]));
        System.out.println("producer transaction.timeout.ms " + exactlyOnce.values().get("transaction.timeout.ms"));
        for (ApiKeys request : new ApiKeys[] {ApiKeys.PRODUCE, ApiKeys.FETCH}) {
            System.out.println("request " + request.name + " " + request.latestVersion());
        }
        report("serde", () -> streams().defaultKeySerde());
        String[] slow = {"processing.guarantee", settings[0], "commit.interval.ms", "10001"};
        report("commit.interval.ms", () -> streams(slow));
        String assignor = "org.apache.kafka.streams.processor.internals.assignment.StickyTaskAssignor";
        report("class StickyTaskAssignor", () -> Class.forName(assignor));
        for (String setting : settings) {
            if (setting.contains("=")) {
                report(setting, () -> {
                    StreamsConfig config = streams(setting.split("=", 2));
                    producer(config);
                    connect(consumer(config));
                });
            }
        }
    }
}
