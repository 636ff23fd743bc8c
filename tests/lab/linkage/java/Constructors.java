import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Runs the constructors of a class with arguments that are made up, and then those of Kafka's clients with the object
 * or the class as their plugin. Each run is "made", "thrown", "late", or the error of the linker, or of a method that
 * only throws, as "!ERROR CLASS MESSAGE" with the class whose code raised it.
 */
final class Constructors {
    private static final String KAFKA = "org.apache.kafka.";
    private static final String CONSUMER = "clients.consumer.KafkaConsumer";
    private static final String PRODUCER = "clients.producer.KafkaProducer";
    private static final String STREAMS = "streams.KafkaStreams";
    /** The interface of a plugin, the client that makes it, and the key that names it; a supplier is an argument. */
    private static final String[][] PLUGINS = {
        {"clients.consumer.ConsumerInterceptor", CONSUMER, "interceptor.classes"},
        {"clients.consumer.ConsumerPartitionAssignor", CONSUMER, "partition.assignment.strategy"},
        {"common.metrics.MetricsReporter", CONSUMER, "metric.reporters"},
        {"common.serialization.Deserializer", CONSUMER, "value.deserializer"},
        {"clients.producer.ProducerInterceptor", PRODUCER, "interceptor.classes"},
        {"clients.producer.Partitioner", PRODUCER, "partitioner.class"},
        {"common.serialization.Serializer", PRODUCER, "value.serializer"},
        {"common.serialization.Serde", STREAMS, "default.value.serde"},
        {"streams.errors.DeserializationExceptionHandler", STREAMS, "default.deserialization.exception.handler"},
        {"streams.errors.ProductionExceptionHandler", STREAMS, "default.production.exception.handler"},
        {"streams.processor.TimestampExtractor", STREAMS, "default.timestamp.extractor"},
        {"streams.state.RocksDBConfigSetter", STREAMS, "rocksdb.config.setter"},
        {"streams.KafkaClientSupplier", STREAMS, ""},
    };
    private static final int DEEPEST = 2;
    private static final int SECONDS = 20;
    private static int runs = 0;

    private interface Run {
        Object make() throws ReflectiveOperationException;
    }

    static String run(String name, ClassLoader loader) {
        List<String> found = new ArrayList<>();
        Class<?> type;
        Constructor<?>[] constructors;
        try {
            type = Class.forName(name, false, loader);
            constructors = type.getDeclaredConstructors();
        } catch (ClassNotFoundException | LinkageError failed) {
            return "";  // asked by "load"
        }
        if (Modifier.isAbstract(type.getModifiers()) || type.isEnum()) return "";
        for (Constructor<?> each : constructors) {
            if (Modifier.isPrivate(each.getModifiers())) continue;
            Object[] made = new Object[1];
            found.add(outcome(loader, () -> made[0] = call(each, 0, loader)));
            if (made[0] != null) {
                for (String[] plugin : PLUGINS) {
                    if (isOne(type, plugin[0])) found.add(outcome(loader, () -> client(plugin, made[0], loader)));
                }
            }
        }
        return String.join("\u0001", found);
    }

    private static String outcome(ClassLoader loader, Run run) {
        FutureTask<Object> task = new FutureTask<>(run::make);
        Thread thread = new Thread(task);
        thread.setDaemon(true);
        thread.setContextClassLoader(loader);
        thread.start();
        try {
            task.get(SECONDS, TimeUnit.SECONDS);
            return "made";
        } catch (TimeoutException | InterruptedException late) {
            return "late";
        } catch (ExecutionException failed) {
            for (Throwable each = failed.getCause(); each != null; each = each.getCause()) {
                StackTraceElement[] trace = each.getStackTrace();
                String at = trace.length == 0 ? "?" : trace[0].getClassName();
                boolean isKafkas = at.startsWith(KAFKA) && each instanceof UnsupportedOperationException;
                if (isKafkas) return "!UnsupportedOperationException " + at + " " + trace[0].getMethodName();
                if (each instanceof LinkageError && !(each instanceof ExceptionInInitializerError)) {
                    String message = String.valueOf(each.getMessage()).replaceAll("\\s+", " ");
                    return "!" + each.getClass().getSimpleName() + " " + at + " " + message;
                }
            }
            return "thrown";
        }
    }

    private static boolean isOne(Class<?> type, String plugin) {
        for (Class<?> each = type; each != null; each = each.getSuperclass()) {
            for (Class<?> of : each.getInterfaces()) {
                if (of.getName().equals(KAFKA + plugin) || isOne(of, plugin)) return true;
            }
        }
        return false;
    }

    private static Object client(String[] plugin, Object made, ClassLoader loader) throws ReflectiveOperationException {
        Map<String, Object> settings = settings();
        if (!plugin[2].isEmpty()) settings.put(plugin[2], made.getClass().getName());
        Class<?> type = Class.forName(KAFKA + plugin[1], true, loader);
        if (!plugin[1].equals(STREAMS)) return type.getConstructor(Map.class).newInstance(settings);
        Class<?> builders = Class.forName(KAFKA + "streams.StreamsBuilder", true, loader);
        Object builder = builders.getConstructor().newInstance();
        Object stream = builders.getMethod("stream", String.class).invoke(builder, "in");
        Class.forName(KAFKA + "streams.kstream.KStream", true, loader).getMethod("to", String.class).invoke(stream, "out");
        Object topology = builders.getMethod("build").invoke(builder);
        Properties properties = new Properties();
        properties.putAll(settings);
        Class<?> supplier = Class.forName(KAFKA + "streams.KafkaClientSupplier", true, loader);
        return plugin[2].isEmpty()
            ? type.getConstructor(topology.getClass(), Properties.class, supplier).newInstance(topology, properties, made)
            : type.getConstructor(topology.getClass(), Properties.class).newInstance(topology, properties);
    }

    private static synchronized Map<String, Object> settings() {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", "localhost:9");
        settings.put("application.id", "a" + runs++);
        settings.put("group.id", "a");
        settings.put("state.dir", "state");
        for (String each : new String[] {"key", "value"}) {
            settings.put(each + ".serializer", KAFKA + "common.serialization.ByteArraySerializer");
            settings.put(each + ".deserializer", KAFKA + "common.serialization.ByteArrayDeserializer");
        }
        return settings;
    }

    private static Object call(Constructor<?> constructor, int depth, ClassLoader loader) throws ReflectiveOperationException {
        constructor.setAccessible(true);
        Object[] arguments = new Object[constructor.getParameterCount()];
        for (int place = 0; place < arguments.length; place++) {
            arguments[place] = argument(constructor.getParameterTypes()[place], depth, loader);
        }
        return constructor.newInstance(arguments);
    }

    /** A value of a type: a text, settings, empty collections, an object that answers with such values, or null. */
    private static Object argument(Class<?> type, int depth, ClassLoader loader) {
        if (type.isPrimitive()) return type == void.class ? null : Array.get(Array.newInstance(type, 1), 0);
        if (type.isArray()) return Array.newInstance(type.getComponentType(), 0);
        if (type == Object.class || type == Class.class || type == Optional.class) {
            return type == Optional.class ? Optional.empty() : type == Class.class ? Object.class : new Object();
        }
        if (type == Properties.class) {
            Properties properties = new Properties();
            properties.putAll(settings());
            return properties;
        }
        if (type.isAssignableFrom(String.class)) return "a";
        if (type.isAssignableFrom(HashMap.class)) return settings();
        if (type.isAssignableFrom(ArrayList.class)) return new ArrayList<>();
        if (type.isAssignableFrom(HashSet.class)) return new HashSet<>();
        if (type.isEnum()) return type.getEnumConstants().length == 0 ? null : type.getEnumConstants()[0];
        if (type.isInterface()) {
            return Proxy.newProxyInstance(loader, new Class<?>[] {type}, (proxy, method, arguments) ->
                method.getName().equals("equals") ? (Object) (proxy == arguments[0])
                    : depth < DEEPEST ? argument(method.getReturnType(), depth + 1, loader)
                    : argument(method.getReturnType().isPrimitive() ? method.getReturnType() : void.class, depth, loader));
        }
        if (depth >= DEEPEST || Modifier.isAbstract(type.getModifiers())) return null;
        Constructor<?>[] constructors = type.getConstructors();
        Arrays.sort(constructors, Comparator.comparingInt(Constructor::getParameterCount));
        for (Constructor<?> each : constructors) {
            try {
                return call(each, depth + 1, loader);
            } catch (ReflectiveOperationException | RuntimeException next) {
                // another constructor may not need more than this
            } catch (LinkageError lost) {
                if (each == constructors[constructors.length - 1]) throw lost;
            }
        }
        return null;
    }
}
