import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.ValueTransformer;
import org.apache.kafka.streams.processor.ProcessorContext;

/** A supplier that returns one transformer again and again: OK, or the exception of building the topology. */
public class SharedSupplier implements ValueTransformer<Object, Object> {
    public void init(ProcessorContext context) {}

    public Object transform(Object value) {
        return value;
    }

    public void close() {}

    public static void main(String[] arguments) {
        SharedSupplier one = new SharedSupplier();
        try {
            new StreamsBuilder().stream("a").transformValues(() -> (ValueTransformer<Object, Object>) one);
            System.out.println("OK");
        } catch (IllegalArgumentException refused) {
            System.out.println(refused.getMessage());
        }
    }
}
