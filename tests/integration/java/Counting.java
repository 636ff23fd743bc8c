import java.lang.reflect.Method;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.Stores;

/**
 * Counts the records of each key: SOURCE -> "store" -> OUTPUT. Arguments: SOURCE OUTPUT name=value...
 *
 * Prints "owns" and its active tasks whenever it runs with others than before, "died" and why; ends with its input.
 */
public final class Counting {
    public static void main(String[] arguments) throws Exception {
        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream(arguments[0])
            .groupByKey()
            .count(Materialized.as(Stores.inMemoryKeyValueStore("store")))
            .toStream()
            .to(arguments[1], Produced.with(Serdes.String(), Serdes.Long()));
        Properties settings = new Properties();
        settings.put("default.key.serde", Serdes.StringSerde.class);
        settings.put("default.value.serde", Serdes.StringSerde.class);
        for (int i = 2; i < arguments.length; i++) {
            String[] pair = arguments[i].split("=", 2);
            settings.put(pair[0], pair[1]);
        }
        KafkaStreams streams = new KafkaStreams(builder.build(), settings);
        Thread.setDefaultUncaughtExceptionHandler((thread, error) -> {
            System.out.println("died " + error);
            Runtime.getRuntime().halt(1);
        });
        Runtime.getRuntime().addShutdownHook(new Thread(streams::close));
        streams.start();
        Thread watch = new Thread(() -> watch(streams));
        watch.setDaemon(true);
        watch.start();
        while (System.in.read() >= 0) {
            // nobody says anything; what counts is the end
        }
        System.exit(0);
    }

    private static void watch(KafkaStreams streams) {
        String before = "";
        while (true) {
            String now = owned(streams);
            if (!now.equals(before)) {
                System.out.println("owns" + now);
            }
            before = now;
            try {
                Thread.sleep(50);
            } catch (InterruptedException end) {
                return;
            }
        }
    }

    /** Classes and names changed in 3.0, and the old ones went in 4.0. */
    private static final String THREADS =
        java.util.Arrays.stream(KafkaStreams.class.getMethods()).anyMatch(m -> m.getName().equals("metadataForLocalThreads"))
            ? "metadataForLocalThreads"
            : "localThreadsMetadata";

    private static Object call(Object object, String name) throws ReflectiveOperationException {
        Method method = object.getClass().getMethod(name);
        method.setAccessible(true);
        return method.invoke(object);
    }

    /** Nothing while it rebalances. */
    private static String owned(KafkaStreams streams) {
        TreeSet<String> tasks = new TreeSet<>();
        try {
            if (streams.state() == KafkaStreams.State.RUNNING) {
                for (Object thread : (Set<?>) call(streams, THREADS)) {
                    for (Object task : (Set<?>) call(thread, "activeTasks")) {
                        tasks.add(call(task, "taskId").toString());
                    }
                }
            }
        } catch (ReflectiveOperationException stopped) {
            tasks.clear();
        }
        return tasks.isEmpty() ? "" : " " + String.join(" ", tasks);
    }
}
