package styles;

import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import kotlin.jvm.internal.Intrinsics;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.springframework.boot.autoconfigure.kafka.KafkaProperties;
import org.springframework.core.io.ClassPathResource;
import org.springframework.core.io.support.PropertiesLoaderUtils;
import org.springframework.kafka.config.KafkaStreamsConfiguration;
import org.springframework.kafka.config.StreamsBuilderFactoryBeanConfigurer;
import org.springframework.util.CollectionUtils;

/** Settings for, and of, frameworks. */
class Frameworks {
    static String name(String end) {
        return Intrinsics.stringPlus("processing.", end);
    }
}

class Bean {
    private String threads;

    KafkaStreamsConfiguration configuration() {
        Map<String, Object> settings = new HashMap<>();
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, "bean");
        settings.put(Frameworks.name("guarantee"), StreamsConfig.EXACTLY_ONCE);
        settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, threads);
        return new KafkaStreamsConfiguration(settings);
    }
}

class Boot {
    KafkaStreamsConfiguration configuration(KafkaProperties properties) {
        Map<String, Object> settings = properties.buildStreamsProperties();
        settings.put(StreamsConfig.NUM_STANDBY_REPLICAS_CONFIG, 1);
        return new KafkaStreamsConfiguration(settings);
    }

    StreamsBuilderFactoryBeanConfigurer configurer() {
        return bean -> bean.getStreamsConfiguration().put("processing.guarantee", "exactly_once_beta");
    }
}

class Injected {
    private Map<String, String> settings = new HashMap<>();

    void setSettings(Map<String, String> settings) {
        this.settings = settings;
    }

    KafkaStreamsConfiguration configuration() {
        return new KafkaStreamsConfiguration(new HashMap<>(settings));
    }
}

class Merged {
    KafkaStreams streams(Topology topology) throws Exception {
        Properties settings = PropertiesLoaderUtils.loadProperties(new ClassPathResource("first.properties"));
        PropertiesLoaderUtils.fillProperties(settings, new ClassPathResource("second.properties"));
        CollectionUtils.mergePropertiesIntoMap(settings, new HashMap<String, Object>());
        return new KafkaStreams(topology, settings);
    }
}
