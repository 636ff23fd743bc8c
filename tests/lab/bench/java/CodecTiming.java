import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.function.Supplier;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.internals.assignment.AssignmentInfo;
import org.apache.kafka.streams.processor.internals.assignment.SubscriptionInfo;
import org.apache.kafka.streams.state.HostInfo;

/**
 * How long SubscriptionInfo and AssignmentInfo of kafka-streams 4.x take: a line of JSON for each message.
 *
 * Sizes: tasks of a subscription; hosts of an assignment, each with ten partitions, and ten active and ten standby
 * tasks in all. encode_ns: encode() of an object that there is; build_encode_ns: the object from collections, too;
 * decode_ns: decode(); decode_read_ns: and every field out of it, as collections.
 */
public final class CodecTiming {
    private static final int VERSION = 11;
    private static final int TEN = 10;
    private static final long SECOND = 1_000_000_000L;
    private static final long SAMPLE = 200_000L; // ns: long for the clock, short for a garbage collection
    /** Published, so the compiler cannot leave out the work. */
    private static volatile Object sink;

    public static void main(String[] arguments) {
        for (int tasks : new int[] {1, 10, 100, 1000, 10_000}) {
            subscription(tasks);
        }
        for (int hosts : new int[] {1, 10, 100, 1000}) {
            assignment(hosts);
        }
    }

    /** Every third task is running, the others are at some offset; 64 partitions in a subtopology. */
    private static void subscription(int tasks) {
        Map<TaskId, Long> offsets = new LinkedHashMap<>();
        for (int i = 0; i < tasks; i++) {
            offsets.put(new TaskId(i / 64, i % 64), i % 3 == 0 ? -2L : 1_000_003L * i);
        }
        ProcessId process = new ProcessId(UUID.fromString("6f1e1a52-0c1b-4c57-9d6e-2f3a4b5c6d7e"));
        Map<String, String> tags = Map.of("zone", "eu-central-1a", "cluster", "blue");
        Supplier<SubscriptionInfo> build = () ->
            new SubscriptionInfo(VERSION, VERSION, process, "streams-0.example:8080", offsets, (byte) 7, 0, tags);
        SubscriptionInfo built = build.get();
        byte[] bytes = bytes(built.encode());
        report("subscription", tasks, bytes, built::encode, () -> build.get().encode(),
            () -> SubscriptionInfo.decode(ByteBuffer.wrap(bytes)),
            () -> read(SubscriptionInfo.decode(ByteBuffer.wrap(bytes))));
    }

    private static Object[] read(SubscriptionInfo info) {
        return new Object[] {
            info.version(), info.latestSupportedVersion(), info.processId(), info.userEndPoint(), info.taskOffsetSums(),
            info.prevTasks(), info.standbyTasks(), info.errorCode(), info.clientTags()};
    }

    /** Host h is active for partition h of ten topics, and standby for the partitions of the host before it. */
    private static void assignment(int hosts) {
        List<TaskId> active = new ArrayList<>();
        Map<TaskId, Set<TopicPartition>> standby = new LinkedHashMap<>();
        for (int partition = 0; partition < TEN; partition++) {
            active.add(new TaskId(0, partition));
            standby.put(new TaskId(1, partition), Set.of(new TopicPartition("orders-by-customer-1", partition)));
        }
        Map<HostInfo, Set<TopicPartition>> first = new LinkedHashMap<>();
        Map<HostInfo, Set<TopicPartition>> second = new LinkedHashMap<>();
        for (int host = 0; host < hosts; host++) {
            HostInfo info = new HostInfo("streams-" + host + ".example", 8080);
            first.put(info, partitions(host));
            second.put(info, partitions((host + hosts - 1) % hosts));
        }
        Supplier<AssignmentInfo> build =
            () -> new AssignmentInfo(VERSION, VERSION, active, standby, first, second, 0);
        AssignmentInfo built = build.get();
        byte[] bytes = bytes(built.encode());
        report("assignment", hosts, bytes, built::encode, () -> build.get().encode(),
            () -> AssignmentInfo.decode(ByteBuffer.wrap(bytes)),
            () -> read(AssignmentInfo.decode(ByteBuffer.wrap(bytes))));
    }

    private static Set<TopicPartition> partitions(int partition) {
        Set<TopicPartition> found = new LinkedHashSet<>();
        for (int topic = 0; topic < TEN; topic++) {
            found.add(new TopicPartition("orders-by-customer-" + topic, partition));
        }
        return found;
    }

    private static Object[] read(AssignmentInfo info) {
        return new Object[] {
            info.version(), info.commonlySupportedVersion(), info.activeTasks(), info.standbyTasks(),
            info.partitionsByHost(), info.standbyPartitionByHost(), info.errCode(), info.nextRebalanceMs()};
    }

    private static byte[] bytes(ByteBuffer encoded) {
        byte[] bytes = new byte[encoded.remaining()];
        encoded.duplicate().get(bytes);
        return bytes;
    }

    private static void report(String what, int size, byte[] bytes, Supplier<?> encode, Supplier<?> buildAndEncode,
                               Supplier<?> decode, Supplier<?> decodeAndRead) {
        System.out.printf(
            "{\"what\": \"%s\", \"size\": %d, \"bytes\": %d, \"encode_ns\": %d, \"build_encode_ns\": %d, "
                + "\"decode_ns\": %d, \"decode_read_ns\": %d, \"hex\": \"%s\"}%n",
            what, size, bytes.length, quick(encode), quick(buildAndEncode), quick(decode), quick(decodeAndRead),
            HexFormat.of().formatHex(bytes));
    }

    /** Of one run, at the tenth percentile: a second to warm up, then samples of many runs for a second. */
    private static long quick(Supplier<?> work) {
        long runs = 0;
        for (long end = System.nanoTime() + SECOND; System.nanoTime() < end; runs++) {
            sink = work.get();
        }
        int perSample = (int) Math.max(1, runs * SAMPLE / SECOND);
        long[] samples = new long[(int) (2 * SECOND / SAMPLE)];
        int taken = 0;
        for (long end = System.nanoTime() + SECOND; System.nanoTime() < end && taken < samples.length; taken++) {
            long begun = System.nanoTime();
            for (int i = 0; i < perSample; i++) {
                sink = work.get();
            }
            samples[taken] = (System.nanoTime() - begun) / perSample;
        }
        Arrays.sort(samples, 0, taken);
        return samples[taken / 10]; // what else the machine does only makes it slower
    }
}
