import java.time.Duration;
import java.util.TreeSet;
import java.util.function.BiConsumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.*;
import org.apache.kafka.streams.processor.ProcessorContext;
import org.apache.kafka.streams.processor.api.*;
import org.apache.kafka.streams.processor.api.Record;

/** Stores and internal topics of topologies with removed operators and with their replacements: "NAME=TEXT". */
public class Numbers {
    private static final Pattern NAMES =
        Pattern.compile("stores: \\[[^\\]]+\\]|topics?: (\\[[^\\]]*\\]|\\S*repartition)|PEEK-\\d+");
    private static final Duration MINUTE = Duration.ofMinutes(1);

    static class OldValues implements ValueTransformer<String, String> {
        public void init(ProcessorContext context) { }
        public String transform(String value) { return value; }
        public void close() { }
    }

    static class OldRecords implements Transformer<String, String, KeyValue<String, String>> {
        public void init(ProcessorContext context) { }
        public KeyValue<String, String> transform(String key, String value) { return null; }
        public void close() { }
    }

    static class NewValues extends ContextualFixedKeyProcessor<String, String, String> {
        public void process(FixedKeyRecord<String, String> record) { }
    }

    static class NewRecords implements Processor<String, String, String, String> {
        public void process(Record<String, String> record) { }
    }

    static class OldProcessor extends org.apache.kafka.streams.processor.AbstractProcessor<String, String> {
        public void process(String key, String value) { }
    }

    static void show(String name, BiConsumer<StreamsBuilder, KStream<String, String>> operators) {
        StreamsBuilder builder = new StreamsBuilder();
        operators.accept(builder, builder.stream("in", Consumed.with(Serdes.String(), Serdes.String())));
        builder.<String, String>stream("last").peek((key, value) -> { });
        TreeSet<String> names = new TreeSet<>();
        Matcher found = NAMES.matcher(builder.build().describe().toString());
        while (found.find()) names.add(found.group());
        System.out.println(name + "=" + names);
    }

    @SuppressWarnings("unchecked")
    public static void main(String[] arguments) {
        show("through", (b, s) -> s.through("t").groupByKey().count());
        show("to", (b, s) -> {
            s.to("t");
            b.<String, String>stream("t").groupByKey().count();
        });
        show("repartition", (b, s) -> s.repartition().groupByKey().count());
        show("transformValues", (b, s) -> s.transformValues(OldValues::new).groupByKey().count());
        show("processValues", (b, s) -> s.processValues(NewValues::new).groupByKey().count());
        show("transform", (b, s) -> s.transform(OldRecords::new).groupByKey().count());
        show("process", (b, s) -> s.process(NewRecords::new).groupByKey().count());
        show("old process", (b, s) -> {
            s.process(() -> new OldProcessor());
            s.groupByKey().count();
        });
        show("new process", (b, s) -> {
            s.process(() -> new NewRecords());
            s.groupByKey().count();
        });
        show("branch", (b, s) -> s.branch((k, v) -> true, (k, v) -> true)[0].groupByKey().count());
        show("split", (b, s) -> s.split().branch((k, v) -> true, Branched.as("a")).branch((k, v) -> true)
            .noDefaultBranch().values().iterator().next().groupByKey().count());
        show("of", (b, s) -> s.groupByKey().windowedBy(TimeWindows.of(MINUTE)).count());
        show("ofSizeWithNoGrace", (b, s) -> s.groupByKey().windowedBy(TimeWindows.ofSizeWithNoGrace(MINUTE)).count());
        show("Named", (b, s) -> b.<String, String>table("x")
            .join(b.<String, String>table("y"), v -> v, (x, y) -> x, Named.as("n")).groupBy(KeyValue::pair).count());
        show("TableJoined", (b, s) -> b.<String, String>table("x")
            .join(b.<String, String>table("y"), v -> v, (x, y) -> x, TableJoined.as("n")).groupBy(KeyValue::pair).count());
    }
}
