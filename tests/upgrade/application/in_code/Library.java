package library;

import java.lang.annotation.*;
import java.util.*;

/** Code of others, which is not read. */
public class Library {
    @Retention(RetentionPolicy.RUNTIME) public @interface Bean {}
    @Retention(RetentionPolicy.RUNTIME) public @interface Inject {}
    @Retention(RetentionPolicy.RUNTIME) public @interface RequestScoped {}
    @Retention(RetentionPolicy.RUNTIME) public @interface Option {}
    public static class Mapper { public <T> T read(String file, Class<T> type) { return null; } public void fill(Object o) {} }
    public interface Hook { void customize(Map<String, Object> settings); }
    public abstract static class Base { protected abstract Properties config(); public void run() {} }
    public static class Context { public static <T> T getBean(Class<T> type) { return null; } }
    public static class Boot { public static void run(Class<?> c, String... a) {} public static void defaults(Map<String,Object> m) {} public static void properties(String... kv) {} public static void all(Object... all) {} }
    public static class Filled extends Properties { public Filled() { putAll(System.getenv()); } }
    public interface Tunable { default void tune(Properties p) { p.putAll(System.getenv()); } }
}
