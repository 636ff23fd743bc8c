import java.lang.reflect.Method;
import java.util.Map;
import java.util.TreeMap;

/**
 * The feature levels of a release since 3.3, as lines. "metadata LEVEL NAME CHANGED PRODUCTION" for each level of
 * metadata.version, "feature NAME LEVEL BOOTSTRAP DEPENDENCY=LEVEL..." for each level of the others, and "supported NAME
 * LOWEST HIGHEST" for what a broker advertises.
 */
public class FeatureLevels {
    static final String COMMON = "org.apache.kafka.server.common.";

    public static void main(String[] none) throws Exception {
        Class<?> versions = Class.forName(COMMON + "MetadataVersion");
        int lowest = 0;
        int highest = 0;
        for (Object version : versions.getEnumConstants()) {
            int level = level(version);
            if (level < 0) continue; // a value of inter.broker.protocol.version before KRaft
            // Before 3.7 every level that a release has is released.
            boolean production = !has(versions, "isProduction") || (boolean) call(version, "isProduction");
            lowest = lowest == 0 ? level : lowest;
            highest = production ? level : highest;
            System.out.println("metadata " + level + " " + version + " " + call(version, "didMetadataChange") + " " + production);
        }
        System.out.println("supported metadata.version " + lowest + " " + highest);
        Class<?> features = features();
        if (features == null) return;
        for (Object feature : features.getEnumConstants()) {
            Object name = call(feature, "featureName");
            for (Object version : (Object[]) call(feature, "featureVersions")) {
                StringBuilder dependencies = new StringBuilder();
                new TreeMap<>((Map<?, ?>) call(version, "dependencies"))
                    .forEach((other, level) -> dependencies.append(" ").append(other).append("=").append(level));
                int bootstrap = level(call(version, "bootstrapMetadataVersion"));
                System.out.println("feature " + name + " " + level(version) + " " + bootstrap + dependencies);
            }
            Object least = has(features, "minimumProduction") ? call(feature, "minimumProduction") : 0;
            System.out.println("supported " + name + " " + least + " " + call(feature, "latestProduction"));
        }
    }

    /** The enumeration of the features besides metadata.version; before 3.8 there is none, or another class of this name. */
    static Class<?> features() {
        for (String name : new String[] {"Feature", "Features"}) {
            try {
                Class<?> found = Class.forName(COMMON + name);
                if (found.isEnum()) return found;
            } catch (ClassNotFoundException notInThisRelease) {
                continue;
            }
        }
        return null;
    }

    static int level(Object version) throws Exception {
        return ((Number) call(version, "featureLevel")).intValue();
    }

    static boolean has(Class<?> type, String method) {
        for (Method each : type.getMethods()) {
            if (each.getName().equals(method)) return true;
        }
        return false;
    }

    /** The value of a method, or of the field of that name. */
    static Object call(Object owner, String name) throws Exception {
        Class<?> type = owner instanceof Enum ? ((Enum<?>) owner).getDeclaringClass() : owner.getClass();
        if (has(type, name)) return type.getMethod(name).invoke(owner);
        java.lang.reflect.Field field = type.getDeclaredField(name);
        field.setAccessible(true);
        return field.get(owner);
    }
}
