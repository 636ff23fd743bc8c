import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Scanner;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.DescribeConsumerGroupsOptions;
import org.apache.kafka.clients.admin.DescribeStreamsGroupsOptions;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.UnsupportedVersionException;

/**
 * What Kafka's Admin describes of groups, as lines of JSON. Argument: the brokers; release 4.2 or later. Each line of
 * input has one line of output: "streams GROUP", "consumer GROUP", or "config GROUP NAME VALUE", which sets a
 * configuration of a group.
 *
 * <p>A description has a key for each method without parameters of Java's class, so that no field is left out.
 */
public final class Describing {
    private static final Set<String> OF_EVERY_OBJECT = Set.of("equals", "hashCode", "toString");
    private static final String DESCRIPTIONS = "org.apache.kafka.clients.admin";

    private Describing() {
    }

    public static void main(String[] arguments) {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", arguments[0]));
             Scanner lines = new Scanner(System.in)) {
            while (lines.hasNextLine()) {
                StringBuilder out = new StringBuilder("json ");
                try {
                    write(plain(answer(admin, lines.nextLine().split(" "))), out);
                } catch (Exception error) {
                    out.setLength("json ".length());
                    write(Map.of("error", String.valueOf(error)), out);
                }
                System.out.println(out);
                System.out.flush();
            }
        }
    }

    private static Object answer(Admin admin, String[] words) throws Exception {
        List<String> groups = List.of(words[1]);
        switch (words[0]) {
            case "streams": {
                try {
                    return streams(admin, words[1], true);
                } catch (ExecutionException error) {
                    if (!(error.getCause() instanceof UnsupportedVersionException)) {
                        throw error;
                    }
                    return streams(admin, words[1], false);  // Java refuses to ask a broker before 4.4 for a topology
                }
            }
            case "consumer": return admin.describeConsumerGroups(groups,
                new DescribeConsumerGroupsOptions().includeAuthorizedOperations(true)).all().get().get(words[1]);
            case "config": {
                ConfigResource group = new ConfigResource(ConfigResource.Type.GROUP, words[1]);
                AlterConfigOp set = new AlterConfigOp(new ConfigEntry(words[2], words[3]), AlterConfigOp.OpType.SET);
                admin.incrementalAlterConfigs(Map.of(group, List.of(set))).all().get();
                return Map.of();
            }
            default: throw new IllegalArgumentException(words[0]);
        }
    }

    private static Object streams(Admin admin, String group, boolean topology) throws Exception {
        DescribeStreamsGroupsOptions options = new DescribeStreamsGroupsOptions();
        options.includeAuthorizedOperations(true);
        for (Method method : options.getClass().getMethods()) {  // since 4.4
            if (method.getName().equals("includeTopologyDescription") && method.getParameterCount() == 1) {
                method.invoke(options, topology);
            }
        }
        return admin.describeStreamsGroups(List.of(group), options).all().get().get(group);
    }

    /** Maps, lists, texts, numbers, booleans and null. */
    private static Object plain(Object value) throws ReflectiveOperationException {
        if (value instanceof Optional) {
            return plain(((Optional<?>) value).orElse(null));
        }
        if (value instanceof OptionalInt) {
            return ((OptionalInt) value).isPresent() ? ((OptionalInt) value).getAsInt() : null;
        }
        if (value instanceof Map) {
            Map<String, Object> found = new TreeMap<>();
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
                found.put(String.valueOf(entry.getKey()), plain(entry.getValue()));
            }
            return found;
        }
        if (value instanceof Collection) {
            List<Object> found = new java.util.ArrayList<>();
            for (Object item : (Collection<?>) value) {
                found.add(plain(item));
            }
            boolean isSetOfTexts = value instanceof Set && found.stream().allMatch(String.class::isInstance);
            return isSetOfTexts ? new TreeSet<>(found) : found;
        }
        if (value instanceof Node) {
            return ((Node) value).host() + ":" + ((Node) value).port();
        }
        if (value == null || value instanceof Number || value instanceof Boolean) {
            return value;
        }
        Class<?> type = value.getClass();
        return type.getName().startsWith(DESCRIPTIONS) && !type.isEnum() ? fields(value) : value.toString();
    }

    private static Map<String, Object> fields(Object value) throws ReflectiveOperationException {
        Map<String, Object> found = new TreeMap<>();
        found.put("class", value.getClass().getSimpleName());
        for (Method method : value.getClass().getDeclaredMethods()) {
            boolean isField = Modifier.isPublic(method.getModifiers()) && !Modifier.isStatic(method.getModifiers())
                && method.getParameterCount() == 0 && !method.isSynthetic();
            if (isField && !OF_EVERY_OBJECT.contains(method.getName())) {
                found.put(method.getName(), plain(method.invoke(value)));
            }
        }
        return found;
    }

    private static void write(Object value, StringBuilder out) {
        String separator = "";
        if (value instanceof Map) {
            out.append('{');
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
                write(String.valueOf(entry.getKey()), out.append(separator));
                write(entry.getValue(), out.append(':'));
                separator = ",";
            }
            out.append('}');
        } else if (value instanceof Collection) {
            out.append('[');
            for (Object item : (Collection<?>) value) {
                write(item, out.append(separator));
                separator = ",";
            }
            out.append(']');
        } else if (value instanceof String) {
            out.append('"').append(((String) value).replace("\\", "\\\\").replace("\"", "\\\"")).append('"');
        } else {
            out.append(value);
        }
    }
}
