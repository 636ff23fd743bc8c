import java.io.File;
import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.net.URL;
import java.net.URLClassLoader;
import java.security.Security;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The configuration of many releases, one JSON object a line: keys of Streams, of the three clients and of the broker
 * (each as far as the jars have it), and what Streams overrides. The arguments are "RELEASE=JAR:JAR:...". Each release has class loaders of its own, one of them on
 * another machine: a default that differs there depends on the machine. With "-DTRIALS=FILE" the lines of the file
 * ("CONFIG TAB KEY TAB VALUE", the value as JSON) are validated, and the answers are printed in the place of the tables.
 */
public class ConfigTables {
    static final String CLIENTS = "org.apache.kafka.clients.";
    static final String STREAMS = "org.apache.kafka.streams.StreamsConfig";
    static final Map<String, String> CONFIGS = new TreeMap<>(Map.of(
        "streams", STREAMS, "consumer", CLIENTS + "consumer.ConsumerConfig",
        "producer", CLIENTS + "producer.ProducerConfig", "admin", CLIENTS + "admin.AdminClientConfig",
        "broker", "kafka.server.KafkaConfig"));
    /** What may be a value of a key whose check is code: of resets, optimizations, acquire modes and levels. */
    static final String[] VALUES = {
        "earliest", "latest", "none", "all", "reuse.ktable.source.topics", "merge.repartition.topics",
        "single.store.self.join", "batch_optimized", "record_limit", "-1", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
    static final String INTERNALS = "org.apache.kafka.streams.processor.internals.";
    static final String[] WITH_OVERRIDES = {
        STREAMS, INTERNALS + "InternalTopicConfig", INTERNALS + "RepartitionTopicConfig",
        INTERNALS + "UnwindowedChangelogTopicConfig", INTERNALS + "UnwindowedUnversionedChangelogTopicConfig",
        INTERNALS + "VersionedChangelogTopicConfig", INTERNALS + "WindowedChangelogTopicConfig"};
    static final Map<String, String> CLIENT_METHODS = Map.of(
        "getConsumerConfigs", "main.consumer", "getMainConsumerConfigs", "main.consumer",
        "getRestoreConsumerConfigs", "restore.consumer", "getGlobalConsumerConfigs", "global.consumer",
        "getProducerConfigs", "producer", "getAdminConfigs", "admin");
    /** Settings that change what the clients get; the first that a release accepts are taken. */
    static final Map<String, List<Map<String, String>>> VARIANTS = new TreeMap<>(Map.of(
        "", List.of(Map.of()),
        " (exactly once)", List.of(
            Map.of("processing.guarantee", "exactly_once_v2"), Map.of("processing.guarantee", "exactly_once"))));
    static final Map<String, String> REQUIRED = Map.of(
        "application.id", "given", "bootstrap.servers", "given:1",
        "key.serializer", "org.apache.kafka.common.serialization.StringSerializer",
        "value.serializer", "org.apache.kafka.common.serialization.StringSerializer",
        "key.deserializer", "org.apache.kafka.common.serialization.StringDeserializer",
        "value.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
    static final boolean BUILD = Boolean.getBoolean("BUILD");
    static final String GIVEN = "given";
    static final Map<String, String> ELSEWHERE = Map.of(
        "java.io.tmpdir", "/elsewhere", "user.name", "elsewhere", "user.dir", "/elsewhere",
        "java.specification.version", "1.8", "java.version", "1.8.0_1");
    static final String[] ALGORITHMS = {"ssl.KeyManagerFactory.algorithm", "ssl.TrustManagerFactory.algorithm"};

    public static void main(String[] releases) throws Exception {
        for (String each : releases) {
            int at = each.indexOf('=');
            Map<String, Object> answer = new TreeMap<>();
            answer.put("release", each.substring(0, at));
            List<URL> jars = new ArrayList<>();
            for (String path : each.substring(at + 1).split(File.pathSeparator)) jars.add(new File(path).toURI().toURL());
            if (System.getProperty("TRIALS") != null) {
                answer.put("answers", trials(loader(jars)));
            } else {
                Map<String, Object> here = tables(loader(jars));
                answer.put("tables", here);
                answer.put("elsewhere", elsewhere(jars));
            }
            System.out.println(Json.write(answer));
        }
    }

    static ClassLoader loader(List<URL> jars) {
        ClassLoader loader = new URLClassLoader(jars.toArray(new URL[0]), ClassLoader.getPlatformClassLoader());
        Thread.currentThread().setContextClassLoader(loader);  // where Kafka looks for the classes that are defaults
        return loader;
    }

    static Object elsewhere(List<URL> jars) throws Exception {
        Map<String, String> before = new HashMap<>();
        for (Map.Entry<String, String> each : ELSEWHERE.entrySet()) {
            before.put(each.getKey(), System.setProperty(each.getKey(), each.getValue()));
        }
        String[] algorithms = new String[ALGORITHMS.length];
        for (int i = 0; i < ALGORITHMS.length; i++) {
            algorithms[i] = Security.getProperty(ALGORITHMS[i]);
            Security.setProperty(ALGORITHMS[i], "elsewhere");
        }
        try {
            return tables(loader(jars));
        } finally {
            before.forEach(System::setProperty);
            for (int i = 0; i < ALGORITHMS.length; i++) Security.setProperty(ALGORITHMS[i], algorithms[i]);
        }
    }

    static Map<String, Object> tables(ClassLoader loader) throws Exception {
        Map<String, Object> found = new TreeMap<>();
        for (Map.Entry<String, String> config : CONFIGS.entrySet()) {
            Class<?> type = type(loader, config.getValue());
            if (type == null) continue;
            Map<String, Object> keys = new TreeMap<>();
            for (Map.Entry<?, ?> key : keysOf(type).entrySet()) keys.put((String) key.getKey(), row(type, key.getValue()));
            found.put(config.getKey(), keys);
        }
        Map<String, Object> overrides = new TreeMap<>();
        for (String name : WITH_OVERRIDES) {
            Class<?> type = type(loader, name);
            if (type != null) overrides.putAll(constants(type));
        }
        if (type(loader, STREAMS) != null) overrides.putAll(clients(loader));
        found.put("overrides", overrides);
        return found;
    }

    static Map<String, Object> constants(Class<?> type) throws Exception {
        Map<String, Object> found = new TreeMap<>();
        for (Field field : type.getDeclaredFields()) {
            boolean isOne = field.getName().contains("OVERRIDES") || field.getName().startsWith("NON_CONFIGURABLE");
            if (!isOne || !Modifier.isStatic(field.getModifiers())) continue;
            field.setAccessible(true);
            found.put(field.getName(), plain(field.get(null)));
        }
        return found;
    }

    /** What Streams passes to each of its clients, without what the application or the member gives. */
    static Map<String, Object> clients(ClassLoader loader) throws Exception {
        Map<String, Object> found = new TreeMap<>();
        Class<?> type = type(loader, STREAMS);
        for (Map.Entry<String, List<Map<String, String>>> variant : VARIANTS.entrySet()) {
            if (!keysOf(type).keySet().containsAll(variant.getValue().get(0).keySet())) continue;
            Object config = null;
            for (Map<String, String> settings : variant.getValue()) {
                if (config != null) break;
                Map<String, String> all = new HashMap<>(settings);
                all.put("application.id", GIVEN);
                all.put("bootstrap.servers", GIVEN + ":1");
                try {
                    config = type.getConstructor(Map.class).newInstance(all);
                } catch (InvocationTargetException unknownToThisRelease) {
                    continue;
                }
                for (Method method : type.getMethods()) {
                    String client = CLIENT_METHODS.get(method.getName());
                    if (client == null || method.isAnnotationPresent(Deprecated.class)) continue;
                    Class<?> clients = type(loader, CONFIGS.get(client.substring(client.indexOf('.') + 1)));
                    Map<String, Object> passed = clients == null ? null : passed(config, method, settings);
                    if (passed == null) continue;
                    passed.keySet().retainAll(keysOf(clients).keySet());
                    if (!passed.isEmpty()) found.put(client + variant.getKey(), passed);
                }
            }
        }
        return found;
    }

    /** Null if the release needs more than names for it. */
    static Map<String, Object> passed(Object config, Method method, Map<String, String> settings) throws Exception {
        Object[] arguments = new Object[method.getParameterCount()];
        for (int i = 0; i < arguments.length; i++) {
            Class<?> type = method.getParameterTypes()[i];
            arguments[i] = type == String.class ? GIVEN : type == int.class || type == Integer.class ? 0 : null;
        }
        Map<String, Object> found = new TreeMap<>();
        try {
            for (Map.Entry<?, ?> each : ((Map<?, ?>) method.invoke(config, arguments)).entrySet()) {
                String key = (String) each.getKey(), value = String.valueOf(plain(each.getValue()));
                boolean isInternal = key.startsWith("__") || isOfKafka(each.getValue());
                if (!isInternal && !value.contains(GIVEN)) found.put(key, value);
            }
            return found;
        } catch (InvocationTargetException needsMore) {
            return null;
        }
    }

    static Map<?, ?> keysOf(Class<?> type) throws Exception {
        Object definition = definition(type);
        return (Map<?, ?>) get(definition.getClass(), definition, "configKeys");
    }

    /** The definition of the broker is in an object of Scala, from 3.9 on in a class of Java. */
    static Object definition(Class<?> type) throws Exception {
        if (has(type, "CONFIG")) return get(type, null, "CONFIG");
        Class<?> object = type(type.getClassLoader(), type.getName() + "$");
        for (Field each : object.getDeclaredFields()) {  // a private one has the name of its class before it
            if (each.getName().endsWith("configDef")) return get(object, get(object, null, "MODULE$"), each.getName());
        }
        return get(type(type.getClassLoader(), "org.apache.kafka.server.config.AbstractKafkaConfig"), null, "CONFIG_DEF");
    }

    static Map<String, Object> row(Class<?> config, Object key) throws Exception {
        Map<String, Object> row = new TreeMap<>();
        Class<?> definition = config.getClassLoader().loadClass("org.apache.kafka.common.config.ConfigDef");
        Object value = get(key.getClass(), key, "defaultValue");
        boolean required = value == get(definition, null, "NO_DEFAULT_VALUE");
        row.put("type", String.valueOf(get(key.getClass(), key, "type")));
        row.put("importance", String.valueOf(get(key.getClass(), key, "importance")));
        row.put("required", required);
        row.put("default", required ? null : plain(value));
        row.put("validator", validator(config, key));
        row.put("internal", has(key.getClass(), "internalConfig") && (Boolean) get(key.getClass(), key, "internalConfig"));
        row.put("deprecated", deprecated(config, (String) get(key.getClass(), key, "name")));
        return row;
    }

    /** Whether each constant with the name of the key is deprecated. */
    static boolean deprecated(Class<?> config, String name) throws Exception {
        int constants = 0, deprecated = 0;
        for (Field field : config.getDeclaredFields()) {
            boolean text = Modifier.isStatic(field.getModifiers()) && field.getType() == String.class;
            if (!text || !field.getName().endsWith("_CONFIG")) continue;
            field.setAccessible(true);
            if (!name.equals(field.get(null))) continue;
            constants++;
            if (field.isAnnotationPresent(Deprecated.class)) deprecated++;
        }
        return constants > 0 && constants == deprecated;
    }

    /** The validator of a key, and which of some values it accepts. */
    static Object validator(Class<?> config, Object key) throws Exception {
        Object validator = get(key.getClass(), key, "validator");
        if (validator == null) return null;
        Map<String, Object> found = validator(validator);
        List<String> accepts = new ArrayList<>();
        for (String value : VALUES) if (tried(config, key, value) == null) accepts.add(value);
        found.put("accepts", accepts);
        return found;
    }

    /** The class of a validator and its fields; a validator in a field in the same way. */
    static Map<String, Object> validator(Object validator) throws Exception {
        Map<String, Object> found = new TreeMap<>();
        Class<?> type = validator.getClass();
        found.put("class", type.isAnonymousClass() || type.isHidden() ? "code" : type.getSimpleName());
        for (Field field : type.getDeclaredFields()) {
            if (Modifier.isStatic(field.getModifiers()) || field.isSynthetic()) continue;
            field.setAccessible(true);
            Object value = field.get(validator);
            boolean known = value == null || value instanceof Number || value instanceof Boolean || value instanceof String;
            if (value instanceof Collection<?> many && many.stream().anyMatch(ConfigTables::isOfKafka)) {
                List<Object> inner = new ArrayList<>();
                for (Object each : many) inner.add(validator(each));
                found.put(field.getName(), inner);
            } else if (known || value instanceof Collection) {
                found.put(field.getName(), plain(value));
            } else if (isOfKafka(value)) {
                found.put(field.getName(), validator(value));
            }
        }
        return found;
    }

    static boolean isOfKafka(Object value) {
        return value != null && value.getClass().getName().startsWith("org.apache.kafka.");
    }

    static Object trials(ClassLoader loader) throws Exception {
        List<Object> answers = new ArrayList<>();
        for (String line : java.nio.file.Files.readAllLines(java.nio.file.Path.of(System.getProperty("TRIALS")))) {
            String[] words = line.split("\t", 3);
            Class<?> type = type(loader, CONFIGS.get(words[0]));
            Object key = type == null ? null : keysOf(type).get(words[1]);
            String value = unquoted(words[2]);
            answers.add(key == null ? "no such key" : BUILD ? built(type, words[1], value) : tried(type, key, value));
        }
        return answers;
    }

    static String unquoted(String text) {
        return text.substring(1, text.length() - 1).replace("\\n", "\n").replace("\\t", "\t");
    }

    /** Null if a value is accepted, or what Kafka says of it. */
    static Object tried(Class<?> config, Object key, String value) throws Exception {
        Class<?> definition = config.getClassLoader().loadClass("org.apache.kafka.common.config.ConfigDef");
        Object name = get(key.getClass(), key, "name");
        try {
            Method parse = null;
            for (Method each : definition.getDeclaredMethods()) {
                if (each.getName().equals("parseType") && each.getParameterCount() == 3) parse = each;
            }
            parse.setAccessible(true);
            Object owner = Modifier.isStatic(parse.getModifiers()) ? null : definition(config);
            Object parsed = parse.invoke(owner, name, value, get(key.getClass(), key, "type"));
            Object validator = get(key.getClass(), key, "validator");
            if (validator == null) return null;
            Method check = config.getClassLoader().loadClass("org.apache.kafka.common.config.ConfigDef$Validator")
                .getMethod("ensureValid", String.class, Object.class);
            check.setAccessible(true);
            check.invoke(validator, name, parsed);
            return null;
        } catch (InvocationTargetException refused) {
            return String.valueOf(refused.getCause().getMessage());
        }
    }

    /** Null if the configuration of a client is made with a value beside what it requires, or what it says. */
    static Object built(Class<?> config, String key, String value) throws Exception {
        Map<String, Object> settings = new HashMap<>(REQUIRED);
        settings.put(key, value);
        try {
            Constructor<?> constructor = config.getDeclaredConstructor(Map.class);
            constructor.setAccessible(true);
            constructor.newInstance(settings);
            return null;
        } catch (InvocationTargetException refused) {
            return String.valueOf(refused.getCause().getMessage());
        }
    }

    static Class<?> type(ClassLoader loader, String name) {
        try {
            return Class.forName(name, true, loader);
        } catch (ClassNotFoundException notInThisRelease) {
            return null;
        }
    }

    static boolean has(Class<?> type, String field) {
        for (Field each : type.getDeclaredFields()) if (each.getName().equals(field)) return true;
        return false;
    }

    static Object get(Class<?> type, Object object, String name) throws Exception {
        Field field = type.getDeclaredField(name);
        field.setAccessible(true);
        return field.get(object);
    }

    /** Text as in a properties file, a list of them, or a map to them. */
    static Object plain(Object value) {
        if (value == null || value instanceof Boolean) return value == null ? null : value.toString();
        if (value instanceof Class<?> type) return type.getName();
        if (value instanceof Map<?, ?> map) {
            Map<String, Object> found = new TreeMap<>();
            map.forEach((name, each) -> found.put(String.valueOf(name), plain(each)));
            return found;
        }
        if (value instanceof Collection<?> many) {
            List<Object> found = new ArrayList<>();
            for (Object each : many) found.add(plain(each));
            return found;
        }
        if (value.getClass().isArray()) {
            List<Object> found = new ArrayList<>();
            for (int i = 0; i < Array.getLength(value); i++) found.add(plain(Array.get(value, i)));
            return found;
        }
        return value.toString();
    }
}
