import java.lang.instrument.Instrumentation;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import net.bytebuddy.agent.builder.AgentBuilder;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.implementation.bytecode.assign.Assigner;
import net.bytebuddy.matcher.ElementMatcher;
import net.bytebuddy.matcher.ElementMatchers;

/**
 * Replaces bodies of Kafka's methods while its classes are loaded; the class files stay as Kafka has published them.
 *
 * The argument is a list of CLASS.METHOD=HANDLER, a static method of a class beside this one. CLASS.new is the
 * constructor with most parameters: its handler is called before it runs.
 */
public final class Agent {
    static final Map<String, String> HANDLERS = new HashMap<>();

    public static void premain(String replaced, Instrumentation instrumentation) {
        Map<String, Set<String>> methods = new HashMap<>();
        for (String each : replaced.split(",")) {
            String[] pair = each.split("=");
            int dot = pair[0].lastIndexOf('.');
            HANDLERS.put(pair[0], pair[1]);
            methods.computeIfAbsent(pair[0].substring(0, dot), any -> new HashSet<>()).add(pair[0].substring(dot + 1));
        }
        new AgentBuilder.Default()
            .disableClassFormatChanges()
            .with(AgentBuilder.Listener.StreamWriting.toSystemError().withErrorsOnly())
            .type(ElementMatchers.namedOneOf(methods.keySet().toArray(new String[0])))
            .transform((builder, type, loader, module, domain) -> {
                String[] names = methods.get(type.getName()).toArray(new String[0]);
                ElementMatcher<MethodDescription> bodies =
                    ElementMatchers.<MethodDescription>namedOneOf(names).and(ElementMatchers.not(ElementMatchers.isBridge()));
                builder = builder.visit(Advice.to(Body.class).on(bodies));
                if (Arrays.asList(names).contains("new")) {
                    int most = type.getDeclaredMethods().filter(ElementMatchers.isConstructor()).stream()
                        .mapToInt(each -> each.getParameters().size()).max().getAsInt();
                    builder = builder.visit(Advice.to(Construction.class)
                        .on(ElementMatchers.isConstructor().and(ElementMatchers.takesArguments(most))));
                }
                return builder;
            })
            .installOn(instrumentation);
    }

    /** Skips the method and returns what Python says. */
    public static final class Body {
        @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
        static Object[] enter(
            @Advice.Origin("#t.#m") String method,
            @Advice.This(optional = true) Object self,
            @Advice.AllArguments Object[] arguments
        ) throws Throwable {
            return new Object[] {Bridge.call(method, self, arguments)};
        }

        @Advice.OnMethodExit
        static void exit(
            @Advice.Enter Object[] answer,
            @Advice.Return(readOnly = false, typing = Assigner.Typing.DYNAMIC) Object returned
        ) {
            returned = answer[0];
        }
    }

    /** Lets Python refuse the values first, and notices if Kafka refuses what Python has accepted. */
    public static final class Construction {
        @Advice.OnMethodEnter
        static void enter(@Advice.Origin("#t.new") String constructor, @Advice.AllArguments Object[] arguments)
            throws Throwable {
            Bridge.call(constructor, null, arguments);
            Bridge.accepted++;
        }

        @Advice.OnMethodExit
        static void exit() {
            Bridge.accepted--;
        }
    }
}
