package newer
import java.util.Properties
import org.apache.kafka.streams.{KafkaStreams, StreamsConfig, Topology}
import scala.jdk.CollectionConverters.*

// Settings in ways that only Scala 3 has, or that its compiler writes in another way than that of Scala 2.
object Base:
  val map: Map[String, AnyRef] = Map("application.id" -> "a", "bootstrap.servers" -> "l:9")
  def base: Properties = { val p = Properties(); p.putAll(map.asJava); p }
  def start(p: Properties): Unit = KafkaStreams(Topology().addSource("source", "in"), p).close()
object Indented:
  @main def indented(): Unit =
    val p = Properties()
    p.putAll((Base.map ++ Map(StreamsConfig.PROCESSING_GUARANTEE_CONFIG -> StreamsConfig.EXACTLY_ONCE)).asJava)
    Base.start(p)
object Lazily:
  lazy val map: Map[String, AnyRef] = Map("processing.guarantee" -> "exactly_once")
  def main(a: Array[String]): Unit = { val p = Base.base; p.putAll(map.asJava); Base.start(p) }
object Givens:
  given Map[String, AnyRef] = Map("processing.guarantee" -> "exactly_once")
  def run(using m: Map[String, AnyRef]): Unit = { val p = Base.base; p.putAll(m.asJava); Base.start(p) }
  def main(a: Array[String]): Unit = run
object Extensions:
  extension (p: Properties) def eos: Properties = { p.put("processing.guarantee", "exactly_once"); p }
  def main(a: Array[String]): Unit = Base.start(Base.base.eos)
object Enums:
  enum Guarantee(val text: String):
    case AtLeastOnce extends Guarantee("at_least_once")
    case ExactlyOnce extends Guarantee("exactly_once")
  def main(a: Array[String]): Unit =
    val p = Base.base; p.put("processing.guarantee", Guarantee.ExactlyOnce.text); Base.start(p)
object Opaques:
  opaque type Key = String
  def key(s: String): Key = s
  def set(p: Properties, k: Key, v: String) = p.put(k, v)
  def main(a: Array[String]): Unit = { val p = Base.base; set(p, key("processing.guarantee"), "exactly_once"); Base.start(p) }
object Inlines:
  inline def put(p: Properties, inline k: String, v: String): Unit = p.put("processing." + k, v)
  def main(a: Array[String]): Unit = { val p = Base.base; put(p, "guarantee", "exactly_once"); Base.start(p) }
object Exports:
  object inner { val p = { val q = Base.base; q.put("processing.guarantee", "exactly_once"); q } }
  export inner.p
  def main(a: Array[String]): Unit = Base.start(p)
object Contexts:
  def eos: Properties ?=> Unit = summon[Properties].put("processing.guarantee", "exactly_once")
  def main(a: Array[String]): Unit = { given p: Properties = Base.base; eos; Base.start(p) }
object Untupled:
  def main(a: Array[String]): Unit =
    val p = Base.base
    for (k, v) <- List("processing.guarantee" -> "exactly_once") do p.put(k, v)
    Base.start(p)
object Options:
  def main(a: Array[String]): Unit =
    val p = Base.base; Option("exactly_once").foreach(v => p.put("processing.guarantee", v)); Base.start(p)
object Mutable:
  def main(a: Array[String]): Unit =
    val m = scala.collection.mutable.HashMap[String, AnyRef](Base.map.toSeq*)
    m("processing.guarantee") = "exactly_once"
    val p = Properties(); m.foreachEntry((k, v) => p.put(k, v)); Base.start(p)
