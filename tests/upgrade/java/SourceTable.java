import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;

/** Describes a table that is read from a topic: "read" forwards it; "filtered" groups what a filter stores of it. */
public class SourceTable {
    public static void main(String[] shape) {
        StreamsBuilder builder = new StreamsBuilder();
        KTable<Object, Object> table = builder.table("orders");
        if (shape[0].equals("filtered")) {
            table.filter((key, value) -> true, Materialized.as("kept")).groupBy((key, value) -> null).count();
        } else {
            table.toStream().to("changes");
        }
        System.out.println(builder.build().describe());
    }
}
