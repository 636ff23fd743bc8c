import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Modifier;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.streams.StreamsConfig;
import org.slf4j.LoggerFactory;

/**
 * What a release says about itself, as lines "NAME VALUE": constants, configurations, classes. A line is left out if
 * the release does not have what is asked for. The arguments are values of upgrade.from to try.
 */
public class ReleaseFacts {
    static final String STREAMS = "org.apache.kafka.streams.";
    static final String ASSIGNMENT = STREAMS + "processor.internals.assignment.";

    public static void main(String[] values) throws Exception {
        say("latest", first(
            constant(ASSIGNMENT + "StreamsAssignmentProtocolVersions", "LATEST_SUPPORTED_VERSION"),
            constant(ASSIGNMENT + "SubscriptionInfo", "LATEST_SUPPORTED_VERSION"),
            constant(ASSIGNMENT + "SubscriptionInfo", "CURRENT_VERSION")));
        say("envelope", first(
            constant("org.apache.kafka.common.message.ConsumerProtocolSubscription", "HIGHEST_SUPPORTED_VERSION"),
            constant("org.apache.kafka.clients.consumer.internals.ConsumerProtocol", "CONSUMER_PROTOCOL_V1"),
            constant("org.apache.kafka.clients.consumer.internals.ConsumerProtocol", "CONSUMER_PROTOCOL_V0")));
        for (String name : new String[] {"HighAvailabilityTaskAssignor", "StickyTaskAssignor"}) {
            if (type(ASSIGNMENT + name) != null) say("assignor", name);
        }
        for (Field field : StreamsConfig.class.getFields()) {
            boolean text = Modifier.isStatic(field.getModifiers()) && field.getType() == String.class;
            if (text) say("constant", field.getName() + " " + field.get(null));
        }
        Object overrides = constant(StreamsConfig.class.getName(), "CONSUMER_DEFAULT_OVERRIDES");
        if (overrides != null) say("overrides", ((Map<?, ?>) overrides).keySet().toString().replace(" ", ""));
        for (String address : new String[] {"host:80", "user@host:80", ":80"}) {
            say("end.point", endPoint(address));
        }
        say("protocol", protocol(null));
        for (String value : values) {
            if (accepted(value)) {
                say("upgrade.from", value);
                say("protocol", protocol(value));
            }
        }
    }

    static void say(String name, Object value) {
        if (value != null) System.out.println(name + " " + value);
    }

    static Object first(Object... values) {
        for (Object value : values) {
            if (value != null) return value;
        }
        return null;
    }

    static Class<?> type(String name) {
        try {
            return Class.forName(name);
        } catch (ClassNotFoundException notInThisRelease) {
            return null;
        }
    }

    static Object constant(String owner, String name) throws Exception {
        try {
            Field field = type(owner) == null ? null : type(owner).getDeclaredField(name);
            if (field != null) field.setAccessible(true);
            return field == null ? null : field.get(null);
        } catch (NoSuchFieldException notInThisRelease) {
            return null;
        }
    }

    static StreamsConfig config(String value) {
        Properties settings = new Properties();
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, "a");
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "localhost:9092");
        if (value != null) settings.put("upgrade.from", value);
        return new StreamsConfig(settings);
    }

    static boolean accepted(String value) {
        try {
            config(value);
            return StreamsConfig.configDef().names().contains("upgrade.from");
        } catch (RuntimeException rejected) {
            return false;
        }
    }

    /** Whether the release accepts an application.server, before the address; null without such a method (before 2.6). */
    static Object endPoint(String address) throws Exception {
        Class<?> type = type(STREAMS + "state.HostInfo");
        if (type == null || !has(type, "buildFromEndpoint")) return null;
        try {
            type.getMethod("buildFromEndpoint", String.class).invoke(null, address);
            return "accepted " + address;
        } catch (InvocationTargetException refused) {
            return "refused " + address;
        }
    }

    /** What a member with this value offers; null if it fails, or if the release does not choose (before 2.4). */
    static Object protocol(String value) throws Exception {
        Class<?> type = type(ASSIGNMENT + "AssignorConfiguration");
        if (type == null) return "EAGER";
        Field unsafe = Class.forName("sun.misc.Unsafe").getDeclaredField("theUnsafe");
        unsafe.setAccessible(true);
        Object assignor = ((sun.misc.Unsafe) unsafe.get(null)).allocateInstance(type);
        for (Field field : type.getDeclaredFields()) {
            field.setAccessible(true);
            if (field.getName().equals("streamsConfig")) field.set(assignor, config(value));
            if (field.getName().equals("log")) field.set(assignor, LoggerFactory.getLogger("facts"));
        }
        try {
            if (has(type, "validateUpgradeFrom")) type.getMethod("validateUpgradeFrom").invoke(assignor);
            return has(type, "rebalanceProtocol") ? type.getMethod("rebalanceProtocol").invoke(assignor) : null;
        } catch (InvocationTargetException failed) {
            return null;
        }
    }

    static boolean has(Class<?> type, String method) {
        for (java.lang.reflect.Method each : type.getMethods()) {
            if (each.getName().equals(method)) return true;
        }
        return false;
    }
}
