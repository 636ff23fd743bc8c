import java.util.Collections;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.common.serialization.LongSerializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.processor.Processor;
import org.apache.kafka.streams.processor.ProcessorContext;
import org.apache.kafka.streams.processor.TopologyBuilder;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;

/** What `Counting` does with the shape "stateful", in 0.10 and 0.11. Their tasks have to be seen from inside. */
public final class Early {
    private static final Set<String> ACTIVE = Collections.synchronizedSet(new TreeSet<>());

    private Early() {
    }

    public static void main(String[] arguments) throws Exception {
        TopologyBuilder topology = new TopologyBuilder();
        topology.addSource("source", new StringDeserializer(), new StringDeserializer(), arguments[0]);
        topology.addProcessor("count", Count::new, "source");
        // Persistent: in these releases a standby of a store in memory makes its thread die.
        topology.addStateStore(Stores.create("store").withStringKeys().withLongValues().persistent().build(), "count");
        topology.addSink("output", arguments[1], new StringSerializer(), new LongSerializer(), "count");
        Properties settings = Instance.settings(arguments, 2);
        Instance.run(new KafkaStreams(topology, settings), () -> {
            synchronized (ACTIVE) {
                return new TreeSet<>(ACTIVE);
            }
        });
    }

    /** A task's own: made and closed with it. */
    private static final class Count implements Processor<String, String> {
        private ProcessorContext context;
        private KeyValueStore<String, Long> counts;

        @Override
        @SuppressWarnings("unchecked")
        public void init(ProcessorContext given) {
            context = given;
            counts = (KeyValueStore<String, Long>) given.getStateStore("store");
            ACTIVE.add(given.taskId().toString());
        }

        @Override
        public void process(String key, String value) {
            Long before = counts.get(key);
            long now = before == null ? 1 : before + 1;
            counts.put(key, now);
            context.forward(key, now);
        }

        @Override
        public void punctuate(long time) {
            // nothing to do
        }

        @Override
        public void close() {
            ACTIVE.remove(context.taskId().toString());
        }
    }
}
