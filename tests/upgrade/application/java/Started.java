import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;

/**
 * Programs that are started on the jars of another release. "implement FILE": each line is a class and an interface
 * that it implements; every method that the interface asks for is called. "settings FILE": each line is a setting; a
 * member is made with it. "files FILE": each line is a file of settings, between tabs; a member is made with it.
 * "member": one member is started and closed.
 */
public class Started {
    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals("implement")) for (String line : lines(arguments[1])) implement(line);
        if (arguments[0].equals("settings")) for (String line : lines(arguments[1])) setting(line);
        if (arguments[0].equals("files")) for (String line : lines(arguments[1])) file(line);
        if (arguments[0].equals("member")) member();
        System.exit(0);
    }

    private static List<String> lines(String file) throws Exception {
        return Files.readAllLines(Path.of(file));
    }

    private static void implement(String line) throws Exception {
        String[] names = line.split(" ");
        Class<?> asked;
        try {
            asked = Class.forName(names[1]);
        } catch (ClassNotFoundException gone) {
            return; // it is reported as a class that is gone
        }
        if (!asked.isInterface()) return;
        Object implementation = Class.forName(names[0]).getDeclaredConstructor().newInstance();
        for (Method each : asked.getMethods()) {
            if (!Modifier.isAbstract(each.getModifiers())) continue;
            each.setAccessible(true);
            Class<?>[] types = each.getParameterTypes();
            Object[] values = new Object[types.length];
            for (int place = 0; place < types.length; place++) {
                values[place] = types[place] == boolean.class ? (Object) false : types[place] == long.class ? (Object) 0L
                    : types[place] == int.class ? (Object) 0 : types[place] == double.class ? (Object) 0.0
                    : types[place] == short.class ? (Object) (short) 0 : types[place] == float.class ? (Object) 0f
                    : types[place] == byte.class ? (Object) (byte) 0 : null;
            }
            try {
                each.invoke(implementation, values);
            } catch (InvocationTargetException called) {
                if (called.getCause() instanceof AbstractMethodError) {
                    String type = java.lang.invoke.MethodType.methodType(each.getReturnType(), types)
                        .toMethodDescriptorString();
                    System.out.println(names[0] + " " + each.getName() + type);
                }
            }
        }
    }

    private static Properties properties() {
        Properties properties = new Properties();
        properties.put("application.id", "started");
        properties.put("bootstrap.servers", "localhost:1");
        properties.put("state.dir", System.getProperty("java.io.tmpdir") + "/started-" + ProcessHandle.current().pid());
        return properties;
    }

    private static KafkaStreams made(Properties properties) {
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream("in").to("out");
        return new KafkaStreams(builder.build(), properties);
    }

    private static void setting(String line) {
        Properties properties = properties();
        int end = line.indexOf('=');
        properties.put(line.substring(0, end), line.substring(end + 1));
        try {
            made(properties).close(java.time.Duration.ZERO);
        } catch (Throwable refused) {
            for (Throwable each = refused; each != null; each = each.getCause()) {
                if (each.getClass().getSimpleName().equals("ConfigException")) {
                    System.out.println(line.substring(0, end) + "=" + each.getMessage());
                    return;
                }
            }
        }
    }

    private static void file(String line) {
        Properties properties = properties();
        for (String each : line.split("\t")) {
            int end = each.indexOf('=');
            properties.put(each.substring(0, end), each.substring(end + 1));
        }
        try {
            made(properties); // 1.0 has no close(Duration), and 4.0 no other one: nothing is started
        } catch (Throwable refused) {
            Throwable cause = refused;
            while (cause.getCause() != null) cause = cause.getCause();
            System.out.println(line + "\t" + String.valueOf(cause).replaceAll("\\s+", " "));
        }
    }

    private static void member() throws Exception {
        try {
            KafkaStreams streams = made(properties());
            streams.setStateListener((now, before) -> { });
            streams.start();
            streams.close(java.time.Duration.ofSeconds(60));
        } catch (LinkageError failed) {
            System.out.println(failed.getClass().getSimpleName() + "\t" + failed.getMessage());
        } catch (RuntimeException refused) {
            return; // a configuration that does not fit
        }
    }
}
