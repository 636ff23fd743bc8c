import java.util.Set;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;

/** Describes a topology of two processors without a common source, which return the same StoreBuilder (KAFKA-20464). */
public class SharedBuilder implements ProcessorSupplier<String, String, Void, Void> {
    final StoreBuilder<?> builder = Stores.keyValueStoreBuilder(
        Stores.inMemoryKeyValueStore("store"), Serdes.String(), Serdes.String());

    public static void main(String[] none) {
        SharedBuilder supplier = new SharedBuilder();
        System.out.println(new Topology()
            .addSource("source-1", "one").addProcessor("first", supplier, "source-1")
            .addSource("source-2", "two").addProcessor("second", supplier, "source-2")
            .describe());
    }

    @Override
    public Set<StoreBuilder<?>> stores() {
        return Set.of(builder);
    }

    @Override
    public Processor<String, String, Void, Void> get() {
        return new Processor<>() {
            @Override
            public void process(Record<String, String> record) { }
        };
    }
}
