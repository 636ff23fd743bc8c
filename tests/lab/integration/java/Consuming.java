import java.time.Duration;
import java.util.List;
import org.apache.kafka.clients.consumer.KafkaConsumer;

/** A plain consumer, which ends with its input: {@code Consuming TOPIC name=value...}. */
public final class Consuming {
    private static volatile boolean ended;

    private Consuming() {
    }

    public static void main(String[] arguments) throws Exception {
        Thread input = new Thread(() -> {
            try {
                while (System.in.read() >= 0) {
                    // nobody says anything; what counts is the end
                }
            } catch (java.io.IOException end) {
                // as its end
            }
            ended = true;
        });
        input.setDaemon(true);
        input.start();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(Instance.settings(arguments, 1))) {
            consumer.subscribe(List.of(arguments[0]));
            while (!ended) {
                consumer.poll(Duration.ofMillis(100))
                    .forEach(record -> System.out.println("record " + record.partition() + " " + record.offset()));
            }
        }
    }
}
