package styles

import java.util.Properties
import org.apache.kafka.streams.KafkaStreams
import org.apache.kafka.streams.StreamsConfig
import org.apache.kafka.streams.StreamsConfig.producerPrefix
import org.apache.kafka.streams.Topology

// Each object makes settings in one way of Kotlin, and passes them to Kafka Streams.
val common = mapOf(StreamsConfig.APPLICATION_ID_CONFIG to "kotlin", StreamsConfig.BOOTSTRAP_SERVERS_CONFIG to "localhost:9")

val guaranteeKey = "processing.guarantee"

fun topology(): Topology = Topology().addSource("source", "in")

object Applied {
    fun settings() = Properties().apply {
        putAll(common)
        this[StreamsConfig.PROCESSING_GUARANTEE_CONFIG] = StreamsConfig.EXACTLY_ONCE
        this[producerPrefix("acks")] = "all"
        put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 2)
    }

    @JvmStatic fun main(args: Array<String>) = KafkaStreams(topology(), settings()).close()
}

object Maps {
    val fixed: Map<String, String> = common + mapOf(guaranteeKey to "exactly_once", "num.standby.replicas" to "1")

    @JvmStatic fun main(args: Array<String>) = KafkaStreams(topology(), fixed.toProperties()).close()
}

object Built {
    val settings = buildMap<String, Any> {
        putAll(common)
        put("processing.guarantee", if (System.getenv("SAFE") == null) "exactly_once" else "at_least_once")
    }

    @JvmStatic fun main(args: Array<String>) {
        val properties = Properties()
        settings.forEach { (key, value) -> properties[key] = value }
        KafkaStreams(topology(), properties).close()
    }
}

data class Config(val guarantee: String = "exactly_once", val threads: Int = 3)

object Classes {
    private fun Config.properties() = Properties().also {
        it.putAll(common)
        it["processing.guarantee"] = guarantee
        it["num.stream.threads"] = "$threads"
    }

    @JvmStatic fun main(args: Array<String>) = KafkaStreams(topology(), Config().properties()).close()
}

class Settings {
    val properties = Properties()

    infix fun String.set(value: Any) {
        properties[this] = value
    }
}

fun kafka(block: Settings.() -> Unit): Properties = Settings().apply(block).properties

object Dsl {
    @JvmStatic fun main(args: Array<String>) {
        val properties = kafka {
            "application.id" set "dsl"
            "bootstrap.servers" set "localhost:9"
            "processing.guarantee" set "exactly_once"
        }
        KafkaStreams(topology(), properties).close()
    }
}
