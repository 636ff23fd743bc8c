import java.nio.ByteBuffer;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.processor.internals.DefaultKafkaClientSupplier;
import org.apache.kafka.streams.processor.internals.StreamsPartitionAssignor;

/**
 * `Counting` on a release from the future: its metadata version is 12, which looks like 11. For releases from 3.2 on.
 *
 * <p>KafkaStreams decides which assignor its consumers have, but lets a client supplier have the last word.
 */
public final class Future {
    private Future() {
    }

    public static void main(String[] arguments) throws Exception {
        Properties settings = Counting.settings(arguments);
        KafkaStreams streams = new KafkaStreams(Counting.topology(arguments, settings), settings, new Supplier());
        Instance.run(streams, () -> Instance.tasksOf(streams));
    }

    private static final class Supplier extends DefaultKafkaClientSupplier {
        @Override
        public Consumer<byte[], byte[]> getConsumer(Map<String, Object> settings) {
            settings.put(ConsumerConfig.PARTITION_ASSIGNMENT_STRATEGY_CONFIG, Assignor.class.getName());
            return super.getConsumer(settings);
        }
    }

    /**
     * Translates between the wire, where there is a version 12, and the assignor of the release, which knows 11.
     *
     * <p>Both kinds of userdata begin with the version and the supported version; an assignment ends with the time of
     * the next rebalance, eight bytes.
     */
    public static final class Assignor extends StreamsPartitionAssignor {
        private static final int LATEST = 11;
        private static final int NEXT = 12;
        private static final int SUPPORTED = 4;

        private boolean speaksNext = true;

        @Override
        public ByteBuffer subscriptionUserData(Set<String> topics) {
            ByteBuffer said = super.subscriptionUserData(topics);
            raise(said, 0, speaksNext);
            raise(said, SUPPORTED, true);
            return said;
        }

        @Override
        public GroupAssignment assign(Cluster cluster, GroupSubscription group) {
            boolean allSpeakNext = true;
            boolean allSupportNext = true;
            for (Subscription one : group.groupSubscription().values()) {
                allSpeakNext &= lowered(one.userData(), 0);
                allSupportNext &= lowered(one.userData(), SUPPORTED);
            }
            GroupAssignment answers = super.assign(cluster, group);
            for (Assignment one : answers.groupAssignment().values()) {
                raise(one.userData(), 0, allSpeakNext);
                raise(one.userData(), SUPPORTED, allSupportNext);
            }
            return answers;
        }

        @Override
        public void onAssignment(Assignment assignment, ConsumerGroupMetadata metadata) {
            ByteBuffer heard = assignment.userData();
            boolean inNext = lowered(heard, 0);
            boolean next = lowered(heard, SUPPORTED);
            if (speaksNext != (inNext || next)) {
                speaksNext = !speaksNext;
                heard.putLong(heard.limit() - Long.BYTES, 0); // at once
            }
            super.onAssignment(assignment, metadata);
        }

        private static void raise(ByteBuffer userdata, int at, boolean wanted) {
            if (wanted && userdata.getInt(at) == LATEST) {
                userdata.putInt(at, NEXT);
            }
        }

        /** Whether this number was the next version; it is the latest then. */
        private static boolean lowered(ByteBuffer userdata, int at) {
            boolean next = userdata.getInt(at) == NEXT;
            if (next) {
                userdata.putInt(at, LATEST);
            }
            return next;
        }
    }
}
