import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Consumed;

/** Describes a table that is read from a topic and forwarded, so that no operator reads its store (KAFKA-6036). */
public class SourceTable {
    public static void main(String[] none) {
        StreamsBuilder builder = new StreamsBuilder();
        builder.table("orders", Consumed.with(Serdes.String(), Serdes.String())).toStream().to("changes");
        System.out.println(builder.build().describe());
    }
}
