@file:Suppress("UNCHECKED_CAST")
package evasions
import java.util.Properties
import org.apache.kafka.streams.*
object Base { fun base() = Properties().apply { put("application.id", "a"); put("bootstrap.servers", "l:9") }; fun key(): String = System.getenv("KEY"); fun start(p: Properties) = KafkaStreams(Topology(), p) }
object EnvLoop { fun main() { val p = Base.base(); System.getenv().filterKeys { it.startsWith("K") }.forEach { (k, v) -> p[k.removePrefix("K").lowercase().replace('_', '.')] = v }; Base.start(p) } }
object Replaced { fun main() { val p = Base.base(); p["processing_guarantee".replace('_', '.')] = "exactly_once"; Base.start(p) } }
object LazyProps { val p by lazy { Base.base().apply { put(Base.key(), "x") } }; fun main() { Base.start(p) } }
object BuildMap { fun main() { val m = buildMap<String, Any> { put(Base.key(), "x") }; Base.start(Base.base().apply { putAll(m) }) } }
object ReadLn { fun main() { val p = Base.base(); p[readLine()] = "x"; Base.start(p) } }
object FileLines { fun main() { val p = Base.base(); java.io.File("x").useLines { l -> l.forEach { p[it] = "x" } }; Base.start(p) } }
object FileText { fun main() { val p = Base.base(); java.io.File("x").readLines().map { it.split("=") }.forEach { (a, b) -> p[a] = b }; Base.start(p) } }
data class Cfg(val kafka: Map<String, String> = emptyMap())
object Mapped { fun main() { val c = Base.start(Base.base().apply { putAll((Class.forName("x").getDeclaredConstructor().newInstance() as Cfg).kafka) }) } }
object Delegated { val m = mutableMapOf<String, Any?>(); var guarantee: String by m as MutableMap<String, String>; fun main() { m[Base.key()] = "x"; Base.start(Base.base().apply { putAll(m) }) } }
fun Properties.with(vararg p: Pair<String, Any>) = apply { p.forEach { (k, v) -> put(k, v) } }
object Varargs { fun main() { Base.start(Base.base().with(Base.key() to "x")) } }
object Seq { fun main() { val p = Base.base(); sequence { yield(Base.key()) }.forEach { p[it] = "x" }; Base.start(p) } }
object Assoc { fun main() { val p = Base.base(); p.putAll(listOf("A").associate { it.lowercase() to "x" }); Base.start(p) } }
object Fns { val fns = listOf<(Properties) -> Unit>({ it[Base.key()] = "x" }); fun main() { val p = Base.base(); fns.forEach { f -> f(p) }; Base.start(p) } }
object Recv { fun make(f: Properties.() -> Unit) = Base.base().apply(f); fun main() { Base.start(make { this[Base.key()] = "x" }) } }
object ToProps { fun main() { Base.start((mapOf("a" to "b") + mapOf(Base.key() to "x")).toProperties()) } }
enum class Key { PROCESSING_GUARANTEE; val key get() = name.lowercase().replace('_', '.') }
object Enums { fun main() { val p = Base.base(); Key.values().forEach { p[it.key] = "exactly_once" }; Base.start(p) } }
@JvmInline value class Guarantee(val v: String)
object Inline { fun main() { val p = Base.base(); p["processing.guarantee"] = Guarantee("exactly_once").v; Base.start(p) } }
object Template { val part = "processing"; fun main() { val p = Base.base(); p["$part.${"guarantee".trim()}"] = "exactly_once"; Base.start(p) } }
object Ref { fun main() { val p = Base.base(); System.getenv().forEach(p::put); Base.start(p) } }
object Joined { fun main() { val p = Base.base(); p[listOf("processing", "guarantee").joinToString(".")] = "exactly_once"; Base.start(p) } }
class Svc { var props = mutableMapOf<String, Any>() }
class Injected(val svc: Svc) { fun main() { Base.start(Base.base().apply { putAll(svc.props) }) } }
object SetVal { fun main() { val p = Base.base(); p["processing.guarantee"] = "at_least_once"; p.entries.forEach { it.setValue(it.value.toString().replace("at_least", "exactly")) }; Base.start(p) } }
object Fold { fun main() { val p = listOf(Base.key()).fold(Base.base()) { acc, k -> acc.apply { put(k, "x") } }; Base.start(p) } }
