import java.lang.reflect.Field;
import java.lang.reflect.Modifier;

/** Prints the constants about streams groups of the group coordinator: the class, the field and its value. */
public final class StreamsGroupConfigs {
    private StreamsGroupConfigs() {
    }

    public static void main(String[] none) throws Exception {
        for (String name : new String[] {"GroupConfig", "GroupCoordinatorConfig"}) {
            for (Field field : Class.forName("org.apache.kafka.coordinator.group." + name).getFields()) {
                if (Modifier.isStatic(field.getModifiers()) && field.getName().startsWith("STREAMS_")) {
                    System.out.println(name + " " + field.getName() + " " + field.get(null));
                }
            }
        }
    }
}
