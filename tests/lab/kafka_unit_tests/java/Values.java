import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.UUID;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.state.HostInfo;

/** Kafka's values as JSON has them, and back; by reflection where releases differ or nothing is public. */
final class Values {
    private Values() {
    }

    /** Lists, text and numbers: a map is a list of [key, value]. */
    static Object plain(Object value) {
        if (value instanceof Map<?, ?> map) {
            return plain(map.entrySet());
        }
        if (value instanceof Map.Entry<?, ?> entry) {
            return list(plain(entry.getKey()), plain(entry.getValue()));
        }
        if (value instanceof Collection<?> collection) {
            return list(collection.stream().map(Values::plain).toArray());
        }
        if (value instanceof TaskId task) {
            return plain(task);
        }
        if (value instanceof TopicPartition partition) {
            return list(partition.topic(), partition.partition());
        }
        if (value instanceof HostInfo host) {
            return list(host.host(), host.port());
        }
        if (value instanceof Optional<?> optional) {
            return plain(optional.orElse(null));
        }
        if (value instanceof OptionalInt optional) {
            return optional.isPresent() ? optional.getAsInt() : null;
        }
        if (value instanceof UUID) {
            return value.toString();
        }
        return value != null && value.getClass().getSimpleName().equals("ProcessId") ? plain(get(value, "id")) : value;
    }

    private static List<Object> plain(TaskId task) {
        if (!has(TaskId.class, "subtopology")) {
            return list(get(task, "topicGroupId"), get(task, "partition")); // before 3.0
        }
        List<Object> parts = list(get(task, "subtopology"), get(task, "partition"));
        Object name = get(task, "topologyName");
        if (name != null) {
            parts.add(name);
        }
        return parts;
    }

    static List<Object> list(Object... values) {
        List<Object> found = new ArrayList<>(values.length);
        for (Object value : values) {
            found.add(value);
        }
        return found;
    }

    static TaskId task(Object row) {
        List<?> parts = (List<?>) row;
        if (parts.size() == 2) {
            return new TaskId(number(parts.get(0)), number(parts.get(1)));
        }
        return (TaskId) make(TaskId.class, number(parts.get(0)), number(parts.get(1)), parts.get(2));
    }

    static List<TaskId> tasks(Object rows) {
        List<TaskId> found = new ArrayList<>();
        for (Object row : (List<?>) rows) {
            found.add(task(row));
        }
        return found;
    }

    static Set<TopicPartition> partitions(Object rows) {
        Set<TopicPartition> found = new HashSet<>();
        for (Object row : (List<?>) rows) {
            List<?> parts = (List<?>) row;
            found.add(new TopicPartition((String) parts.get(0), number(parts.get(1))));
        }
        return found;
    }

    static Map<HostInfo, Set<TopicPartition>> hosts(Object rows) {
        Map<HostInfo, Set<TopicPartition>> found = new HashMap<>();
        for (Object row : (List<?>) rows) {
            List<?> host = (List<?>) ((List<?>) row).get(0);
            found.put(new HostInfo((String) host.get(0), number(host.get(1))), partitions(((List<?>) row).get(1)));
        }
        return found;
    }

    static int number(Object value) {
        return ((Number) value).intValue();
    }

    /** A value of the type that this release has: a ProcessId, or a UUID before 3.8. */
    static Object processId(String text) {
        try {
            return make(Class.forName("org.apache.kafka.streams.processor.assignment.ProcessId"), UUID.fromString(text));
        } catch (ClassNotFoundException before38) {
            return UUID.fromString(text);
        }
    }

    /** What the method without parameters, or else the field, of this name has. */
    static Object get(Object owner, String name) {
        try {
            for (Class<?> type = owner.getClass(); type != null; type = type.getSuperclass()) {
                for (Method each : type.getDeclaredMethods()) {
                    if (each.getName().equals(name) && each.getParameterCount() == 0) {
                        each.setAccessible(true);
                        return each.invoke(owner);
                    }
                }
                for (Field each : type.getDeclaredFields()) {
                    if (each.getName().equals(name)) {
                        each.setAccessible(true);
                        return each.get(owner);
                    }
                }
            }
        } catch (InvocationTargetException wrapper) {
            throw wrapper.getCause() instanceof RuntimeException cause ? cause : new IllegalStateException(wrapper);
        } catch (IllegalAccessException failure) {
            throw new IllegalStateException(failure);
        }
        throw new IllegalArgumentException(owner.getClass() + " has no " + name);
    }

    /** Whether this release has the accessor. */
    static boolean has(Class<?> type, String accessor) {
        return Arrays.stream(type.getDeclaredMethods())
            .anyMatch(each -> each.getName().equals(accessor) && each.getParameterCount() == 0);
    }

    /** The constructor that takes so many parameters. */
    static Object make(Class<?> type, Object... given) {
        try {
            for (var each : type.getDeclaredConstructors()) {
                if (each.getParameterCount() == given.length) {
                    each.setAccessible(true);
                    return each.newInstance(given);
                }
            }
        } catch (InvocationTargetException wrapper) {
            throw wrapper.getCause() instanceof RuntimeException cause ? cause : new IllegalStateException(wrapper);
        } catch (ReflectiveOperationException failure) {
            throw new IllegalStateException(failure);
        }
        throw new IllegalArgumentException(type + " has no constructor of " + given.length);
    }
}
