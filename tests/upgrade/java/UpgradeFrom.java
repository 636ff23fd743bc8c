import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.util.Properties;
import org.apache.kafka.streams.StreamsConfig;
import org.slf4j.LoggerFactory;

/** What becomes of each value of upgrade.from: a line "VALUE OK VERSION PROTOCOL", or "VALUE EXCEPTION MESSAGE". */
public class UpgradeFrom {
    static final int LATEST = 99;

    public static void main(String[] values) throws Exception {
        for (String value : values) {
            System.out.println(value + " " + outcome(value));
        }
    }

    static String outcome(String value) throws Exception {
        Properties settings = new Properties();
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, "a");
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "localhost:9092");
        settings.put("upgrade.from", value);
        try {
            return "OK " + started(new StreamsConfig(settings));
        } catch (RuntimeException refused) {
            return refused.getClass().getSimpleName() + " " + refused.getMessage();
        }
    }

    /** The three questions that StreamsPartitionAssignor.configure asks since 2.4. */
    static String started(StreamsConfig config) throws Exception {
        Class<?> type;
        try {
            type = Class.forName("org.apache.kafka.streams.processor.internals.assignment.AssignorConfiguration");
        } catch (ClassNotFoundException before24) {
            return "- -";
        }
        Field unsafe = Class.forName("sun.misc.Unsafe").getDeclaredField("theUnsafe");
        unsafe.setAccessible(true);
        Object assignor = ((sun.misc.Unsafe) unsafe.get(null)).allocateInstance(type);
        for (Field field : type.getDeclaredFields()) {
            field.setAccessible(true);
            if (field.getName().equals("streamsConfig")) field.set(assignor, config);
            if (field.getName().equals("log")) field.set(assignor, LoggerFactory.getLogger("upgrade.from"));
        }
        ask(type, assignor, "validateUpgradeFrom");
        Object version = ask(type, assignor, "configuredMetadataVersion", LATEST);
        return version + " " + ask(type, assignor, "rebalanceProtocol");
    }

    static Object ask(Class<?> type, Object object, String question, Integer... arguments) throws Exception {
        try {
            Class<?>[] types = arguments.length == 0 ? new Class<?>[0] : new Class<?>[] {int.class};
            return type.getMethod(question, types).invoke(object, (Object[]) arguments);
        } catch (NoSuchMethodException notInThisRelease) {
            return "-";
        } catch (InvocationTargetException thrown) {
            throw (RuntimeException) thrown.getCause();
        }
    }
}
