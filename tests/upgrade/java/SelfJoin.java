import java.time.Duration;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.KStream;

/** Describes a stream that is joined with itself, with all optimizations (KIP-862). */
public class SelfJoin {
    public static void main(String[] none) {
        Properties properties = new Properties();
        properties.put("application.id", "none");
        properties.put("bootstrap.servers", "none:1");
        properties.put("default.key.serde", Serdes.String().getClass());
        properties.put("default.value.serde", Serdes.String().getClass());
        properties.put("topology.optimization", "all");
        StreamsBuilder builder = new StreamsBuilder();
        KStream<String, String> stream = builder.stream("orders");
        stream.join(stream, (left, right) -> left, JoinWindows.of(Duration.ofMinutes(1))).to("pairs");
        System.out.println(builder.build(properties).describe());
    }
}
