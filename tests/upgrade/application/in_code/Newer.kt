package newer
import java.util.Properties
import org.apache.kafka.streams.*

// Settings in ways that Kotlin 2 compiles in another way than 1.9: lambdas are invokedynamic, entries of enums, delegates.
object Base {
    fun base() = Properties().apply { put("application.id", "a"); put("bootstrap.servers", "l:9") }
    fun start(p: Properties) = KafkaStreams(Topology().addSource("source", "in"), p).close()
}
object Sam {
    fun interface Tune { fun tune(p: Properties) }
    val tune = Tune { it["processing.guarantee"] = "exactly_once" }
    @JvmStatic fun main(a: Array<String>) { val p = Base.base(); tune.tune(p); Base.start(p) }
}
object Value {
    @JvmInline value class Key(val s: String)
    fun set(p: Properties, k: Key, v: String) { p[k.s] = v }
    @JvmStatic fun main(a: Array<String>) { val p = Base.base(); set(p, Key("processing.guarantee"), "exactly_once"); Base.start(p) }
}
data object Lazily {
    val props by lazy { Base.base().also { it.setProperty("processing.guarantee", "exactly_once") } }
    @JvmStatic fun main(a: Array<String>) = Base.start(props)
}
object BuildMap {
    @JvmStatic fun main(a: Array<String>) {
        val made = buildMap { put("processing.guarantee", "exactly_once") }
        Base.start(made.entries.fold(Base.base()) { p, (k, v) -> p.apply { this[k] = v } })
    }
}
object Entries {
    enum class Guarantee(val text: String) { ALO("at_least_once"), EOS("exactly_once") }
    @JvmStatic fun main(a: Array<String>) { val p = Base.base(); p["processing.guarantee"] = Guarantee.entries.last().text; Base.start(p) }
}
class Companion {
    companion object { @JvmStatic val defaults: Map<String, Any> = hashMapOf("processing.guarantee" to "exactly_once") }
    val p = Base.base().apply { putAll(defaults) }
    fun run() = Base.start(p)
}
object Infix {
    infix fun Properties.eos(v: String) = apply { put("processing.guarantee", v) }
    @JvmStatic fun main(a: Array<String>) = Base.start(Base.base() eos "exactly_once")
}
object Receiver {
    fun settings(block: Properties.() -> Unit) = Base.base().apply(block)
    @JvmStatic fun main(a: Array<String>) = Base.start(settings { this["processing.guarantee"] = "exactly_once" })
}
object Inlined {
    inline fun settings(block: Properties.() -> Unit) = Base.base().apply(block)
    @JvmStatic fun main(a: Array<String>) = Base.start(settings { this["processing.guarantee"] = "exactly_once" })
}
object Defaults {
    class Config(val guarantee: String = "exactly_once", val threads: Int = 2)
    @JvmStatic fun main(a: Array<String>) { val p = Base.base(); p["processing.guarantee"] = Config(threads = 3).guarantee; Base.start(p) }
}
object Destructured {
    val map = mapOf("processing.guarantee" to "exactly_once")
    @JvmStatic fun main(a: Array<String>) { val p = Base.base(); map.forEach { (k, v) -> p[k] = v }; Base.start(p) }
}
object Template {
    val name = "guarantee"
    @JvmStatic fun main(a: Array<String>) { val p = Base.base(); p["processing.$name"] = "exactly_once"; Base.start(p) }
}
object Converted {
    val map = mapOf("processing.guarantee" to "exactly_once", "application.id" to "a")
    @JvmStatic fun main(a: Array<String>) = Base.start(map.toProperties())
}
