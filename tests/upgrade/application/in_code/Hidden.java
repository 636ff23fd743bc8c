package styles;

import java.io.FileInputStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.Topology;

/** Each nested class changes its settings through another name; the key is not known. */
class Hidden {
    static final Map<String, Properties> ALL = new HashMap<>();

    static Properties base() {
        Properties settings = new Properties();
        settings.put("application.id", "a");
        settings.put("bootstrap.servers", "localhost:9");
        return settings;
    }

    static void start(Properties settings) {
        new KafkaStreams(new Topology(), settings);
    }

    static String key() {
        return System.getenv("KEY");
    }
}

class OldValue {
    public static void main(String[] arguments) {
        Properties settings = Hidden.base();
        Hidden.ALL.put("a", settings);
        Hidden.ALL.put("a", new Properties()).put(Hidden.key(), "x");
        Hidden.start(settings);
    }
}

class ByKey {
    public static void main(String[] arguments) {
        Properties settings = Hidden.base();
        Hidden.ALL.put("a", settings);
        Hidden.ALL.get("a").put(Hidden.key(), "x");
        Hidden.start(settings);
    }
}

class AllOfThem {
    public static void main(String[] arguments) {
        Properties settings = Hidden.base();
        Hidden.ALL.put("a", settings);
        Hidden.ALL.get("a").putAll(System.getenv());
        Hidden.start(settings);
    }
}

class FromFile {
    public static void main(String[] arguments) throws Exception {
        Properties settings = Hidden.base();
        Hidden.ALL.put("a", settings);
        Hidden.ALL.get("a").load(new FileInputStream("some.properties"));
        Hidden.start(settings);
    }
}

class Removed {
    public static void main(String[] arguments) {
        Properties settings = Hidden.base();
        Hidden.ALL.put("a", settings);
        settings.put(Hidden.key(), "x");
        Hidden.start(Hidden.ALL.remove("a"));
    }
}

class Chosen {
    public static void main(String[] arguments) {
        Properties settings = Hidden.base();
        settings.put(Hidden.key(), "x");
        Hidden.ALL.put("a", settings);
        new KafkaStreams(new Topology(), Hidden.ALL.get("a"));
    }
}

class Absent {
    public static void main(String[] arguments) {
        Properties settings = Hidden.base();
        Hidden.ALL.computeIfAbsent("a", name -> settings).put(Hidden.key(), "x");
        Hidden.start(settings);
    }
}

class First {
    public static void main(String[] arguments) {
        List<Properties> all = new ArrayList<>();
        all.add(Hidden.base());
        all.get(0).put(Hidden.key(), "x");
        for (Properties each : all) {
            Hidden.start(each);
        }
    }
}

class OfArray {
    public static void main(String[] arguments) {
        Properties settings = Hidden.base();
        Properties[] all = {settings};
        all[0].put(Hidden.key(), "x");
        Hidden.start(settings);
    }
}

class OfReference {
    public static void main(String[] arguments) {
        Properties settings = Hidden.base();
        AtomicReference<Properties> reference = new AtomicReference<>();
        reference.set(settings);
        reference.get().put(Hidden.key(), "x");
        Hidden.start(settings);
    }
}

class OfThread {
    static final ThreadLocal<Properties> LOCAL = new ThreadLocal<>();

    public static void main(String[] arguments) {
        Properties settings = Hidden.base();
        LOCAL.set(settings);
        LOCAL.get().put(Hidden.key(), "x");
        Hidden.start(settings);
    }
}

class Many {
    public static void main(String[] arguments) {
        Properties one = Hidden.base(), other = one;
        switch (arguments.length) {
            case 0: other = new Properties(); break;
            case 1: other = new Properties(); break;
            case 2: other = new Properties(); break;
            case 3: other = new Properties(); break;
            case 4: other = new Properties(); break;
            case 5: other = new Properties(); break;
            case 6: other = new Properties(); break;
            case 7: other = new Properties(); break;
            default: break;
        }
        other.put(Hidden.key(), "x");
        Hidden.start(one);
    }
}

class Rest {
    /** None of these is the map of the settings. */
    static void others(Map<String, Map<String, Object>> cache, Map<String, Object> own) {
        cache.computeIfAbsent("a", name -> new HashMap<>()).put(Hidden.key(), "x");
        cache.get("b").put(Hidden.key(), "x");
        own.put(Hidden.key(), "x");
        new HashMap<String, Object>(own).put(Hidden.key(), "x");
        cache.put("c", own);
    }

    public static void main(String[] arguments) {
        Properties settings = Hidden.base();
        others(new HashMap<>(), new HashMap<>());
        Hidden.start(settings);
    }
}
