import java.lang.reflect.AccessibleObject;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;

/** The name of a directory of a windowed store, and the segments that each argument is the name of; before 1.0. */
public class SegmentNames {
    public static void main(String[] names) throws Exception {
        Class<?> segments = Class.forName("org.apache.kafka.streams.state.internals.Segments");
        Constructor<?> constructor = segments.getDeclaredConstructor(String.class, long.class, int.class);
        Method name = segments.getDeclaredMethod("segmentName", long.class);
        AccessibleObject.setAccessible(new AccessibleObject[] {constructor, name}, true);
        Object store = constructor.newInstance("orders", 120000L, 2);
        System.out.println(name.invoke(store, 0L));
        for (String other : names) {
            Method number = segments.getDeclaredMethod("segmentIdFromSegmentName", String.class);
            number.setAccessible(true);
            System.out.println(number.invoke(store, other));
        }
    }
}
