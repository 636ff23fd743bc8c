import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.Collections;
import java.util.Properties;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Pattern;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;

/**
 * Counts the records of each key, in releases from 1.0 on. Arguments: SOURCE OUTPUT name=value...
 *
 * <p>The setting "shape" says how: stateful (SOURCE -> "store" -> OUTPUT), repartition (SOURCE -> a repartition topic ->
 * "store" -> OUTPUT), pattern (as stateful, with SOURCE as a pattern), wider (as stateful, and it reads SOURCE-more too),
 * persistent (as stateful, and the store is on disk, so that the process id is too), held (as stateful, but no task is
 * created before the file of the setting "until" is there; it prints "creates" for each of them) or stateless (SOURCE ->
 * OUTPUT, a one for each record). `Instance` says what else it prints.
 */
public final class Counting {
    private Counting() {
    }

    public static void main(String[] arguments) throws Exception {
        Properties settings = settings(arguments);
        KafkaStreams streams = new KafkaStreams(topology(arguments, settings), settings);
        Instance.run(streams, () -> Instance.tasksOf(streams));
    }

    static Properties settings(String[] arguments) {
        Properties settings = Instance.settings(arguments, 2);
        settings.put("default.key.serde", Serdes.StringSerde.class);
        settings.put("default.value.serde", Serdes.StringSerde.class);
        return settings;
    }

    static Topology topology(String[] arguments, Properties settings) {
        String shape = settings.getProperty("shape", "stateful");
        StreamsBuilder builder = new StreamsBuilder();
        KStream<String, String> source = shape.equals("pattern")
            ? builder.stream(Pattern.compile(arguments[0]))
            : builder.stream(shape.equals("wider")
                ? Arrays.asList(arguments[0], arguments[0] + "-more")
                : Collections.singletonList(arguments[0]));
        KStream<String, Long> counts = shape.equals("stateless")
            ? source.mapValues(value -> 1L)
            : (shape.equals("repartition") ? source.selectKey((key, value) -> key) : source)
                .groupByKey()
                .count(Materialized.as(shape.equals("persistent")
                    ? Stores.persistentKeyValueStore("store")
                    : shape.equals("held")
                        ? new Held(Paths.get(settings.getProperty("until")))
                        : Stores.inMemoryKeyValueStore("store")))
                .toStream();
        counts.to(arguments[1], Produced.with(Serdes.String(), Serdes.Long()));
        return builder.build();
    }

    /** A store in memory that a thread of Kafka Streams makes only when a file is there. */
    private static final class Held implements KeyValueBytesStoreSupplier {
        private final KeyValueBytesStoreSupplier made = Stores.inMemoryKeyValueStore("store");
        private final Path until;

        Held(Path until) {
            this.until = until;
        }

        @Override
        public KeyValueStore<Bytes, byte[]> get() {
            if (Thread.currentThread().getName().contains("-StreamThread-")) {
                System.out.println("creates");
                while (!Files.exists(until)) {
                    LockSupport.parkNanos(50_000_000);
                }
            }
            return made.get();
        }

        @Override
        public String name() {
            return made.name();
        }

        @Override
        public String metricsScope() {
            return made.metricsScope();
        }
    }
}
