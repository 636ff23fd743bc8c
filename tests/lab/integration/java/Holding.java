import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.processor.StateRestoreListener;

/**
 * `Counting` that also tells what its stores hold, for releases from 3.0 on and the shapes with one subtopology.
 *
 * <p>Prints "stored" and how far each store is (TASK=POSITION), standbys too; "restored TASK BEGIN RECORDS" when an
 * active task has read the rest of its changelog; and "standby-hosts", as "hosts" has the partitions of active tasks.
 */
public final class Holding {
    private Holding() {
    }

    public static void main(String[] arguments) throws Exception {
        Properties settings = Counting.settings(arguments);
        KafkaStreams streams = new KafkaStreams(Counting.topology(arguments, settings), settings);
        streams.setGlobalStateRestoreListener(new Restored());
        Thread watch = new Thread(() -> watch(streams));
        watch.setDaemon(true);
        watch.start();
        Instance.run(streams, () -> Instance.tasksOf(streams));
    }

    private static void watch(KafkaStreams streams) {
        Map<String, String> told = new TreeMap<>();
        while (true) {
            try {
                Thread.sleep(200);
                tell(told, "stored", stored(streams));
                tell(told, "standby-hosts", hosts(streams));
            } catch (InterruptedException end) {
                return;
            } catch (RuntimeException rebalancing) {
                // it does not know now
            }
        }
    }

    private static void tell(Map<String, String> told, String word, String now) {
        if (!now.equals(told.put(word, now))) {
            System.out.println((word + " " + now).trim());
        }
    }

    private static String stored(KafkaStreams streams) {
        return streams.allLocalStorePartitionLags().values().stream()
            .flatMap(lags -> lags.entrySet().stream())
            .map(lag -> "0_" + lag.getKey() + "=" + lag.getValue().currentOffsetPosition())
            .sorted()
            .collect(Collectors.joining(" "));
    }

    private static String hosts(KafkaStreams streams) {
        return streams.metadataForAllStreamsClients().stream()
            .map(one -> one.hostInfo().host() + ":" + one.hostInfo().port() + "=" + one.standbyTopicPartitions().stream()
                .map(TopicPartition::toString)
                .sorted()
                .collect(Collectors.joining(",")))
            .sorted()
            .collect(Collectors.joining(" "));
    }

    /** It hears of tasks that become active, and of no others. */
    private static final class Restored implements StateRestoreListener {
        private final Map<TopicPartition, Long> begun = new ConcurrentHashMap<>();

        @Override
        public void onRestoreStart(TopicPartition changelog, String store, long begin, long end) {
            begun.put(changelog, begin);
        }

        @Override
        public void onBatchRestored(TopicPartition changelog, String store, long end, long records) {
            // the sum comes at the end
        }

        @Override
        public void onRestoreEnd(TopicPartition changelog, String store, long records) {
            System.out.println("restored 0_" + changelog.partition() + " " + begun.get(changelog) + " " + records);
        }
    }
}
