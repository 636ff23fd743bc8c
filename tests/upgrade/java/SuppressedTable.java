import java.time.Duration;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Suppressed;

/** Describes a table that is read from a topic and suppressed. */
public class SuppressedTable {
    public static void main(String[] none) {
        StreamsBuilder builder = new StreamsBuilder();
        builder.table("orders")
                .suppress(Suppressed.untilTimeLimit(Duration.ofSeconds(1), Suppressed.BufferConfig.unbounded()))
                .toStream()
                .to("changes");
        System.out.println(builder.build().describe());
    }
}
