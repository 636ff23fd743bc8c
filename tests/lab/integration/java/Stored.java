import java.time.Duration;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.Suppressed;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * Counts the records of each key in a store on disk, in releases from 2.1 on. Arguments: SOURCE OUTPUT name=value...
 *
 * <p>With the setting "suppressed" the counts wait a day in a suppress buffer named "buffer".
 */
public final class Stored {
    private Stored() {
    }

    public static void main(String[] arguments) throws Exception {
        Properties settings = Instance.settings(arguments, 2);
        settings.put("default.key.serde", Serdes.StringSerde.class);
        settings.put("default.value.serde", Serdes.StringSerde.class);
        StreamsBuilder builder = new StreamsBuilder();
        KTable<String, Long> counts = builder.<String, String>stream(arguments[0])
            .groupByKey()
            .count(Materialized.<String, Long, KeyValueStore<Bytes, byte[]>>as("store").withValueSerde(Serdes.Long()));
        if (settings.containsKey("suppressed")) {
            counts = counts.suppress(
                Suppressed.<String>untilTimeLimit(Duration.ofDays(1), Suppressed.BufferConfig.unbounded())
                    .withName("buffer"));
        }
        counts.toStream().to(arguments[1], Produced.with(Serdes.String(), Serdes.Long()));
        KafkaStreams streams = new KafkaStreams(builder.build(), settings);
        Instance.run(streams, () -> Instance.tasksOf(streams));
    }
}
