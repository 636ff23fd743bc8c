import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * What Java's linker says of libraries on the jars of a release. Each argument is a file: first the class path, then
 * lines of "extended CLASS", "load CLASS", "throws CLASS", "construct CLASS", "run PROBE METHODS" or
 * "lambda INTERFACE METHOD DESCRIPTOR".
 * The answers are lines with tabs: the file, the line, and the error, the abstract methods of a class, or Kafka's
 * default methods that throw when they are called on an object of it, which was made without a constructor.
 *
 * A probe has one method for each reference, with the instruction of the reference. Classes of libraries that are not
 * there are empty ones; a class below one of those is not judged, as its supertype may have any method.
 * The constructors of a class are run by Constructors.
 */
public class Probes {
    private static final class Loader extends URLClassLoader {
        final Set<String> invented = new HashSet<>();
        final Set<String> extended = new HashSet<>();

        Loader(URL[] jars) {
            super(jars, ClassLoader.getPlatformClassLoader());
        }

        @Override
        protected Class<?> findClass(String name) throws ClassNotFoundException {
            try {
                return super.findClass(name);
            } catch (ClassNotFoundException missing) {
                if (name.startsWith("org.apache.kafka.") && !name.startsWith("org.apache.kafka.connect.")) throw missing;
                byte[] content = empty(name.replace('.', '/'), extended.contains(name));
                invented.add(name);
                return defineClass(name, content, 0, content.length);
            }
        }
    }

    public static void main(String[] files) throws Exception {
        for (String file : files) {
            List<String> lines = Files.readAllLines(Path.of(file));
            try (Loader loader = new Loader(urls(lines.get(0)))) {
                for (String line : lines.subList(1, lines.size())) {
                    if (line.startsWith("extended ")) loader.extended.add(line.substring(9).replace('/', '.'));
                    else answer(file, line, loader);
                }
            }
        }
        System.exit(0);
    }

    private static URL[] urls(String classPath) throws MalformedURLException {
        List<URL> urls = new ArrayList<>();
        for (String path : classPath.split(":")) urls.add(Path.of(path).toUri().toURL());
        return urls.toArray(new URL[0]);
    }

    private static void answer(String file, String line, Loader loader) {
        String[] words = line.split(" ");
        if (words[0].equals("load")) say(file, line, load(words[1].replace('/', '.'), loader));
        if (words[0].equals("throws")) say(file, line, throwing(words[1].replace('/', '.'), loader));
        if (words[0].equals("construct")) say(file, line, Constructors.run(words[1].replace('/', '.'), loader));
        if (words[0].equals("lambda")) say(file, line, lambda(words[1].replace('/', '.'), words[2], words[3], loader));
        if (words[0].equals("run")) {
            for (int number = 0; number < Integer.parseInt(words[2]); number++) {
                say(file, "run " + words[1] + " " + number, run(words[1].replace('/', '.'), "m" + number, loader));
            }
        }
    }

    private static void say(String file, String line, String text) {
        System.out.println(file + "\t" + line + "\t" + text);
    }

    /** The errors of loading a class, or the abstract methods that it has as a concrete class. */
    private static String load(String name, Loader loader) {
        try {
            Class<?> type = Class.forName(name, false, loader);
            for (Class<?> each : supertypes(type, new HashSet<>())) {
                if (loader.invented.contains(each.getName())) return "unseen";
            }
            if (type.isInterface() || Modifier.isAbstract(type.getModifiers())) return "";
            Set<String> missing = new TreeSet<>();
            for (Method each : type.getMethods()) {
                if (Modifier.isAbstract(each.getModifiers())) missing.add(text(each));
            }
            return String.join(" ", missing);
        } catch (ClassNotFoundException | LinkageError failed) {
            return error(failed);
        }
    }

    private static String throwing(String name, Loader loader) {
        Set<String> found = new TreeSet<>();
        try {
            Class<?> type = Class.forName(name, false, loader);
            if (type.isInterface() || Modifier.isAbstract(type.getModifiers())) return "";
            Field field = Class.forName("sun.misc.Unsafe").getDeclaredField("theUnsafe");
            field.setAccessible(true);
            Object unsafe = field.get(null);
            Object made = unsafe.getClass().getMethod("allocateInstance", Class.class).invoke(unsafe, type);
            for (Method each : type.getMethods()) {
                if (!each.isDefault() || !each.getDeclaringClass().getName().startsWith("org.apache.kafka.")) continue;
                List<Object> arguments = new ArrayList<>();
                for (Class<?> parameter : each.getParameterTypes()) arguments.add(Array.get(Array.newInstance(parameter, 1), 0));
                try {
                    each.setAccessible(true);
                    each.invoke(made, arguments.toArray());
                } catch (InvocationTargetException thrown) {
                    if (thrown.getCause() instanceof UnsupportedOperationException) found.add(each.getDeclaringClass().getName().replace('.', '/') + "#" + text(each));
                }
            }
        } catch (ReflectiveOperationException | LinkageError failed) {
            return "";
        }
        return String.join(" ", found);
    }

    private static String error(Throwable failed) {
        return "!" + failed.getClass().getSimpleName() + " " + String.valueOf(failed.getMessage()).replaceAll("\\s+", " ");
    }

    private static Set<Class<?>> supertypes(Class<?> type, Set<Class<?>> found) {
        if (type != null && found.add(type)) {
            supertypes(type.getSuperclass(), found);
            for (Class<?> each : type.getInterfaces()) supertypes(each, found);
        }
        return found;
    }

    private static String text(Method method) {
        String type = java.lang.invoke.MethodType.methodType(method.getReturnType(), method.getParameterTypes())
            .toMethodDescriptorString();
        return method.getName() + type;
    }

    private static String lambda(String name, String method, String descriptor, Loader loader) {
        try {
            Class<?> type = Class.forName(name, false, loader);
            if (!type.isInterface()) return "!no interface";
            Set<String> open = new TreeSet<>();
            for (Method each : type.getMethods()) {
                boolean isOfObject = false;
                for (Method other : Object.class.getMethods()) isOfObject |= text(each).equals(text(other));
                if (Modifier.isAbstract(each.getModifiers()) && !isOfObject) open.add(text(each));
            }
            return open.equals(Set.of(method + descriptor)) ? "" : "!AbstractMethodError " + open;
        } catch (ClassNotFoundException | LinkageError failed) {
            return "!" + failed.getClass().getSimpleName();
        }
    }

    /** What a method of a probe comes to: any other exception is raised behind the linker. */
    private static String run(String name, String method, Loader loader) {
        try {
            Class<?> type = Class.forName(name, true, loader);
            if (method.equals("m0") && type.getDeclaredConstructors().length > 0) {
                type.getDeclaredConstructors()[0].newInstance();
                return "";
            }
            Method found = type.getDeclaredMethod(method);
            found.invoke(null);
            return "";
        } catch (Throwable failed) {
            for (Throwable each = failed; each != null; each = each.getCause()) {
                // Code of a static initializer runs behind the linker.
                if (each instanceof ExceptionInInitializerError) return "";
                if (String.valueOf(each.getMessage()).startsWith("Could not initialize class")) return "";
                if (each instanceof LinkageError) return error(each);
            }
            return "";
        }
    }

    private static byte[] empty(String name, boolean isClass) {
        String parent = !isClass ? "java/lang/Object" : name.endsWith("Exception") ? "java/lang/RuntimeException" : "java/lang/Object";
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeInt(0xCAFEBABE);
            out.writeInt(52);
            out.writeShort(5);
            for (String text : new String[] {name, parent}) {
                out.writeByte(1);
                out.writeUTF(text);
            }
            out.writeByte(7);
            out.writeShort(1);
            out.writeByte(7);
            out.writeShort(2);
            out.writeShort(isClass ? Modifier.PUBLIC : Modifier.PUBLIC | Modifier.INTERFACE | Modifier.ABSTRACT);
            out.writeShort(3);
            out.writeShort(4);
            out.writeInt(0);
            out.writeInt(0);
        } catch (IOException impossible) {
            throw new AssertionError(impossible);
        }
        return bytes.toByteArray();
    }
}
