import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Collection;
import java.util.ConcurrentModificationException;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Supplier;
import org.apache.kafka.streams.KafkaStreams;

/**
 * What the drivers share: one instance of Kafka Streams, of any release, that tells what it has and ends with its input.
 *
 * <p>Prints "owns" and its active tasks whenever it has others than before, "hosts" and what it knows of the group's
 * hosts likewise (HOST:PORT=PARTITION,...), and "died" and why.
 */
final class Instance {
    private Instance() {
    }

    /** The name=value arguments from a place on. */
    static Properties settings(String[] arguments, int from) {
        Properties settings = new Properties();
        for (String argument : Arrays.copyOfRange(arguments, from, arguments.length)) {
            String[] pair = argument.split("=", 2);
            settings.put(pair[0], pair[1]);
        }
        return settings;
    }

    static void run(KafkaStreams streams, Supplier<Set<String>> active) throws Exception {
        Thread.setDefaultUncaughtExceptionHandler((thread, error) -> {
            error.printStackTrace(System.out);
            die(error);
        });
        Runtime.getRuntime().addShutdownHook(new Thread(streams::close));
        streams.start();
        Thread watch = new Thread(() -> watch(streams, active));
        watch.setDaemon(true);
        watch.start();
        while (System.in.read() >= 0) {
            // nobody says anything; what counts is the end
        }
        watch.interrupt();
        System.exit(0);
    }

    private static void die(Object why) {
        System.out.println("died " + why);
        System.out.flush();
        Runtime.getRuntime().halt(1);
    }

    private static void watch(KafkaStreams streams, Supplier<Set<String>> active) {
        String tasks = "";
        String hosts = "";
        while (true) {
            tasks = told("owns", tasks, String.join(" ", new TreeSet<>(active.get())));
            hosts = told("hosts", hosts, hosts(streams));
            if (state(streams).equals("ERROR")) {
                die("in state ERROR");
            }
            try {
                Thread.sleep(50);
            } catch (InterruptedException end) {
                return;
            }
        }
    }

    private static String told(String word, String before, String now) {
        if (!now.equals(before)) {
            System.out.println((word + " " + now).trim());
        }
        return now;
    }

    /** Nothing in releases before 0.10.1, which tell no state. */
    private static String state(KafkaStreams streams) {
        try {
            return String.valueOf(call(streams, "state"));
        } catch (ReflectiveOperationException unknown) {
            return "";
        }
    }

    /** The tasks that the threads name; nothing while it rebalances. */
    static Set<String> tasksOf(KafkaStreams streams) {
        Set<String> tasks = new TreeSet<>();
        try {
            if (state(streams).equals("RUNNING")) {
                for (Object thread : (Collection<?>) call(streams, "metadataForLocalThreads", "localThreadsMetadata")) {
                    for (Object task : (Collection<?>) call(thread, "activeTasks")) {
                        tasks.add(call(task, "taskId").toString());
                    }
                }
            }
        } catch (ReflectiveOperationException | ConcurrentModificationException rebalancing) {
            tasks.clear();
        }
        return tasks;
    }

    /** Nothing if it does not know, or is of a release that knows no hosts. */
    private static String hosts(KafkaStreams streams) {
        TreeSet<String> hosts = new TreeSet<>();
        try {
            for (Object one : (Collection<?>) call(streams, "metadataForAllStreamsClients", "allMetadata")) {
                Object host = call(one, "hostInfo");
                TreeSet<String> partitions = new TreeSet<>();
                for (Object partition : (Collection<?>) call(one, "topicPartitions")) {
                    partitions.add(partition.toString());
                }
                hosts.add(call(host, "host") + ":" + call(host, "port") + "=" + String.join(",", partitions));
            }
        } catch (ReflectiveOperationException | ConcurrentModificationException unknown) {
            hosts.clear();
        }
        return String.join(" ", hosts);
    }

    /** Call the first of these methods that there is: names changed in 3.0, and the old ones went in 4.0. */
    private static Object call(Object object, String... names) throws ReflectiveOperationException {
        ReflectiveOperationException missing = null;
        for (String name : names) {
            try {
                Method method = object.getClass().getMethod(name);
                method.setAccessible(true);
                return method.invoke(object);
            } catch (NoSuchMethodException error) {
                missing = error;
            }
        }
        throw missing;
    }
}
