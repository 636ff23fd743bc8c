package orders

import java.time.Duration
import org.apache.kafka.streams.StreamsBuilder
import org.apache.kafka.streams.kstream.*
import org.apache.kafka.streams.processor.ProcessorContext

// Methods that 4.3.1 does not have, each in another place of Kotlin.
class Windows {
    companion object {
        fun minute(): TimeWindows = TimeWindows.of(Duration.ofMinutes(1))
    }
}

fun <V> KStream<String, V>.routed() =
    branch(Predicate { _, _ -> true })

inline fun <T> twice(change: () -> T): T {
    change()
    return change()
}

fun main() {
    val stream = twice { StreamsBuilder().stream<String, String>("in").through("between") }
    val windows: (Duration) -> SessionWindows = SessionWindows::with
    println("${stream.routed()} ${Windows.minute()} $windows")
    stream.transformValues(ValueTransformerSupplier {
        object : ValueTransformer<String, String> {
            override fun init(context: ProcessorContext) {}
            override fun transform(value: String) = value
            override fun close() {}
        }
    })
}
