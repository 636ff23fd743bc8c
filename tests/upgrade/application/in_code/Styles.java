package styles;

import java.io.FileInputStream;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;

/** Each nested class makes settings in one way, and passes them to Kafka Streams. */
class Styles {
    static final String GUARANTEE = StreamsConfig.PROCESSING_GUARANTEE_CONFIG;

    static Topology topology() {
        return new Topology().addSource("source", "in");
    }

    static Properties base(String application) {
        Properties settings = new Properties();
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, application);
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "localhost:9");
        return settings;
    }
}

class Constants {
    public static void main(String[] args) {
        Properties settings = Styles.base("constants");
        settings.put(Styles.GUARANTEE, StreamsConfig.EXACTLY_ONCE);
        settings.setProperty(StreamsConfig.NUM_STREAM_THREADS_CONFIG, "2");
        settings.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        settings.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class.getName());
        settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 1000L);
        settings.put(StreamsConfig.producerPrefix(ProducerConfig.ACKS_CONFIG), "all");
        settings.put(StreamsConfig.PRODUCER_PREFIX + ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, true);
        settings.put(ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG, 30_000);
        new KafkaStreams(Styles.topology(), settings).close();
    }
}

class Ternary {
    public static void main(String[] args) {
        Properties settings = Styles.base("ternary");
        settings.put(Styles.GUARANTEE, args.length == 0 ? StreamsConfig.EXACTLY_ONCE : StreamsConfig.AT_LEAST_ONCE);
        if (args.length > 1) {
            settings.put(StreamsConfig.NUM_STANDBY_REPLICAS_CONFIG, 1);
        }
        new KafkaStreams(Styles.topology(), settings).close();
    }
}

class Concatenated {
    static final String END = String.valueOf("guarantee");

    public static void main(String[] args) {
        Properties settings = Styles.base("concatenated");
        settings.put("processing." + END, "exactly" + "_once");
        String name = "main.consumer.";
        name += "session.timeout.ms";
        settings.put(name, Integer.toString(10_000));
        StringBuilder text = new StringBuilder("num.");
        text.append("stream.");
        text.append("threads");
        settings.put(text.toString(), "3");
        settings.put("producer.".concat("linger.ms"), "5");
        new KafkaStreams(Styles.topology(), settings).close();
    }
}

class MapOf {
    static final Map<String, Object> FIXED = new HashMap<>();

    static {
        FIXED.put(Styles.GUARANTEE, StreamsConfig.EXACTLY_ONCE);
        FIXED.put(StreamsConfig.APPLICATION_ID_CONFIG, "map");
    }

    public static void main(String[] args) {
        Map<String, Object> others = Collections.singletonMap(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 4);
        Map<String, Object> settings = new LinkedHashMap<>(FIXED);
        settings.putAll(others);
        settings.putIfAbsent(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "localhost:9");
        new KafkaStreams(Styles.topology(), new StreamsConfig(Collections.unmodifiableMap(settings)).originalsStrings().isEmpty() ? new Properties() : copied(settings)).close();
    }

    static Properties copied(Map<String, Object> settings) {
        Properties copy = new Properties();
        for (Map.Entry<String, Object> entry : settings.entrySet()) {
            copy.put(entry.getKey(), entry.getValue());
        }
        return copy;
    }
}

class Helper {
    private final Properties settings = new Properties();

    Helper with(String key, Object value) {
        settings.put(key, value);
        return this;
    }

    Properties build() {
        return settings;
    }

    public static void main(String[] args) {
        Properties settings = new Helper()
            .with(StreamsConfig.APPLICATION_ID_CONFIG, "helper")
            .with(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "localhost:9")
            .with(Styles.GUARANTEE, StreamsConfig.EXACTLY_ONCE)
            .build();
        new KafkaStreams(Styles.topology(), settings).close();
    }
}

enum Keys {
    ID(StreamsConfig.APPLICATION_ID_CONFIG),
    SERVERS("bootstrap.servers"),
    SAFETY("processing.guarantee");

    private final String name;

    Keys(String name) {
        this.name = name;
    }

    String text() {
        return name;
    }
}

class Enums {
    public static void main(String[] args) {
        Properties settings = new Properties();
        settings.put(Keys.ID.text(), "enums");
        settings.put(Keys.SERVERS.text(), "localhost:9");
        settings.put(Keys.SAFETY.text(), "exactly_once");
        new KafkaStreams(Styles.topology(), settings).close();
    }
}

class Own extends Properties {
    Own(String guarantee) {
        put(StreamsConfig.APPLICATION_ID_CONFIG, "own");
        put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "localhost:9");
        setProperty(Styles.GUARANTEE, guarantee);
    }

    public static void main(String[] args) {
        new KafkaStreams(Styles.topology(), new Own("exactly_once")).close();
    }
}

class Lambdas {
    static void change(Properties settings, Consumer<Properties> change) {
        change.accept(settings);
    }

    public static void main(String[] args) {
        Properties settings = Styles.base("lambdas");
        change(settings, each -> each.put(Styles.GUARANTEE, StreamsConfig.EXACTLY_ONCE));
        Map<String, String> more = new HashMap<>();
        more.put("num.stream.threads", "2");
        more.forEach((key, value) -> settings.put(key, value));
        Optional.ofNullable(System.getenv("RETRIES")).ifPresent(value -> settings.put("retries", value));
        new KafkaStreams(Styles.topology(), settings).close();
    }
}

class Loops {
    public static void main(String[] args) {
        Properties settings = Styles.base("loops");
        List<String> names = new ArrayList<>(Arrays.asList("processing.guarantee", "num.standby.replicas"));
        for (String name : names) {
            String value = System.getProperty(name);
            if (value != null) {
                settings.put(name, value);
            }
        }
        new KafkaStreams(Styles.topology(), settings).close();
    }
}

class Environment {
    public static void main(String[] args) {
        Properties settings = Styles.base("environment");
        for (Map.Entry<String, String> entry : System.getenv().entrySet()) {
            settings.put(entry.getKey().toLowerCase().replace('_', '.'), entry.getValue());
        }
        new KafkaStreams(Styles.topology(), settings).close();
    }
}

class UnknownValue {
    public static void main(String[] args) {
        Properties settings = Styles.base("unknown");
        settings.put(Styles.GUARANTEE, System.getenv("GUARANTEE"));
        new KafkaStreams(Styles.topology(), settings).close();
    }
}

class Loaded {
    static Properties load(String name) {
        Properties settings = new Properties();
        try (InputStream file = Loaded.class.getResourceAsStream(name)) {
            settings.load(file);
        } catch (Exception error) {
            throw new IllegalStateException(error);
        }
        return settings;
    }

    public static void main(String[] args) {
        new KafkaStreams(Styles.topology(), load("/conf/streams.properties")).close();
    }
}

class Argument {
    public static void main(String[] args) throws Exception {
        Properties settings = new Properties();
        settings.load(new FileInputStream(args[0]));
        new KafkaStreams(Styles.topology(), settings).close();
    }
}

class Parameter {
    KafkaStreams streams(Properties given) {
        return new KafkaStreams(Styles.topology(), given);
    }
}

class OtherClient {
    public static void main(String[] args) {
        Properties producer = new Properties();
        producer.put(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, "localhost:9");
        producer.put(ProducerConfig.RETRIES_CONFIG, 3);
        producer.put(ProducerConfig.ACKS_CONFIG, "1");
        new KafkaProducer<String, String>(producer).close();
        new KafkaStreams(Styles.topology(), Styles.base("other")).close();
    }
}

class Whether {
    Properties clients() {
        Properties settings = new Properties();
        settings.put("retries", "3");
        settings.remove("acks");
        return settings;
    }
}

class Switched {
    static String guarantee(String stage) {
        switch (stage) {
            case "dev":
                return "at_least_once";
            case "prod":
                return "exactly_once";
            default:
                return "exactly_once_beta";
        }
    }

    public static void main(String[] args) {
        Properties settings = Styles.base("switched");
        settings.put(Styles.GUARANTEE, guarantee(args.length == 0 ? "prod" : args[0]));
        new KafkaStreams(Styles.topology(), settings).close();
    }
}

class More {
    static String unset;
    final String name;
    final Properties settings;

    interface Change {
        void apply(Properties settings);
    }

    interface Source {
        Properties settings();
    }

    More(String name, Properties settings) {
        this.name = name;
        this.settings = settings;
    }

    More(Properties settings) {
        this("processing.guarantee", settings);
    }

    static String ofProducer(String name) {
        return "producer." + name;
    }

    static void prefixed(Properties settings, String name, String value) {
        settings.put(ofProducer(name), value);
    }

    static void direct(Properties settings, String name, String value) {
        settings.put("consumer." + name, value);
    }

    static void supplied(Properties settings, Supplier<String> name) {
        settings.put(name.get(), "1");
    }

    static void change(Properties settings, Change change) {
        change.apply(settings);
    }

    static Properties made(Supplier<Properties> supplier) {
        return supplier.get();
    }

    KafkaStreams of(Source source) {
        return new KafkaStreams(Styles.topology(), source.settings());
    }

    public static void main(String[] args) {
        More more = new More(made(() -> Styles.base("more")));
        Properties settings = more.settings;
        settings.put(more.name, StreamsConfig.EXACTLY_ONCE);
        settings.put("enable.metrics.push", Boolean.TRUE);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, unset);
        prefixed(settings, "acks", "all");
        prefixed(settings, "linger.ms", "5");
        change(settings, each -> each.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 2));
        for (int number = 0; number < args.length; number++) {
            settings.put(StreamsConfig.consumerPrefix("max.poll.records"), number);
        }
        StringBuilder text = new StringBuilder("x");
        text.insert(0, "a");
        settings.put("client.id", text.toString());
        settings.put("client.tag.zone", "a");
        new ConfigDef().define("num.standby.replicas", ConfigDef.Type.INT, ConfigDef.Importance.LOW, "");
        Collections.addAll(new ArrayList<Object>(), settings);
        Collections.fill(new ArrayList<Object>(), settings);
        settings.getProperty("acks");
        new StreamsBuilder().<String, String>stream("in").filter((key, value) -> true);
        direct(settings, "fetch.min.bytes", "1");
        supplied(settings, () -> "max.warmup.replicas");
        new java.io.StreamTokenizer(new java.io.StringReader("")).sval = "";
        new KafkaStreams(Styles.topology(), settings).close();
    }
}

class References {
    static Properties with(Supplier<Properties> supplier, Supplier<String> name) {
        Properties settings = supplier.get();
        settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE);
        settings.put(name.get(), "1");
        return settings;
    }

    public static void main(String[] args) {
        Properties settings = with(Properties::new, System::lineSeparator);
        settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, "2");
        Arrays.asList("exactly_once").stream().map(Own::new).forEach(settings::putAll);
        new KafkaStreams(Styles.topology(), settings).close();
    }
}
