import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;

/**
 * What Java says of classes that were compiled against another release: "CLASS ERROR MESSAGE" for each that cannot be linked.
 * A null receiver is found only after the member, so NullPointerException means that it is there.
 */
public class Linker {
    public static void main(String[] names) throws Exception {
        for (String name : names) {
            try {
                Class<?> type = Class.forName(name);
                for (Method each : type.getMethods()) {
                    boolean isMissing = Modifier.isAbstract(each.getModifiers()) && !type.isInterface();
                    if (isMissing) System.out.println(name + "\tAbstractMethodError\t" + each.getDeclaringClass().getName() + "." + each.getName() + "(");
                }
                type.getMethod("run").invoke(null);
            } catch (InvocationTargetException failed) {
                if (failed.getCause() instanceof LinkageError) say(name, failed.getCause());
            } catch (LinkageError failed) {
                say(name, failed);
            }
        }
    }

    static void say(String name, Throwable error) {
        System.out.println(name + "\t" + error.getClass().getSimpleName() + "\t" + error.getMessage());
    }
}
