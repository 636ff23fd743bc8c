import java.util.Properties;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.streams.StreamsConfig;

/**
 * What a release says of its configuration: "default NAME VALUE" of its consumers, "name NAME" for each that it has, and
 * for each argument NAME=VALUE a line "NAME=VALUE OK" or "NAME=VALUE EXCEPTION MESSAGE".
 */
public class Settings {
    public static void main(String[] settings) {
        System.out.println("default session.timeout.ms "
            + ConsumerConfig.configDef().defaultValues().get("session.timeout.ms"));
        for (String name : new TreeSet<>(StreamsConfig.configDef().names())) {
            System.out.println("name " + name);
        }
        for (String setting : settings) {
            Properties given = new Properties();
            given.put(StreamsConfig.APPLICATION_ID_CONFIG, "a");
            given.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "localhost:9092");
            given.put(setting.split("=")[0], setting.split("=")[1]);
            String outcome = "OK";
            try {
                new StreamsConfig(given);
            } catch (RuntimeException refused) {
                outcome = refused.getClass().getSimpleName() + " " + refused.getMessage();
            }
            System.out.println(setting + " " + outcome);
        }
    }
}
