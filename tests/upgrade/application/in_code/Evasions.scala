package evasions
import java.util.Properties
import org.apache.kafka.streams._
import scala.jdk.CollectionConverters._
object Base { def base: Properties = { val p = new Properties(); p.put("application.id", "a"); p.put("bootstrap.servers", "l:9"); p }; def key: String = System.getenv("KEY"); def start(p: Properties) = new KafkaStreams(new Topology(), p) }
object SysEnv { def main(a: Array[String]): Unit = { val p = Base.base; sys.env.foreach { case (k, v) => p.put(k, v) }; Base.start(p) } }
object SysProps { def main(a: Array[String]): Unit = { val p = Base.base; for ((k, v) <- sys.props) p.setProperty(k, v); Base.start(p) } }
object Interp { def main(a: Array[String]): Unit = { val x = "guarantee"; val p = Base.base; p.put(s"processing.$x", "exactly_once"); p.put(f"processing.$x%s", "exactly_once"); Base.start(p) } }
object Lines { def main(a: Array[String]): Unit = { val p = Base.base; scala.io.Source.fromFile("x").getLines().foreach(l => p.put(l, "x")); Base.start(p) } }
object MutMap { def main(a: Array[String]): Unit = { val m = scala.collection.mutable.Map[String, AnyRef](); m += (Base.key -> "x"); val p = Base.base; p.putAll(m.asJava); Base.start(p) } }
object MutMap2 { val all = scala.collection.mutable.Map[String, scala.collection.mutable.Map[String, AnyRef]](); def main(a: Array[String]): Unit = { val m = scala.collection.mutable.Map[String, AnyRef](); all.put("a", m); all("a")(Base.key) = "x"; val p = Base.base; m.foreach { case (k, v) => p.put(k, v) }; Base.start(p) } }
case class Cfg(kafka: Map[String, String] = Map.empty)
object Mapped { def load[T]: T = Class.forName("x").getDeclaredConstructor().newInstance().asInstanceOf[T]; def main(a: Array[String]): Unit = { val p = Base.base; load[Cfg].kafka.foreach { case (k, v) => p.put(k, v) }; Base.start(p) } }
object Implicits { implicit class Rich(val p: Properties) extends AnyVal { def set(kv: (String, String)): Properties = { p.put(kv._1, kv._2); p } }; def main(a: Array[String]): Unit = { Base.start(Base.base.set(Base.key -> "x")) } }
object LazyVal { lazy val p = { val q = Base.base; q.put(Base.key, "x"); q }; def main(a: Array[String]): Unit = Base.start(p) }
object Fold { def main(a: Array[String]): Unit = Base.start(List(Base.key).foldLeft(Base.base) { (p, k) => p.put(k, "x"); p }) }
object ForC { def main(a: Array[String]): Unit = { val p = Base.base; for { k <- Option(Base.key); v <- Some("x") } p.put(k, v); Base.start(p) } }
object MkStr { def main(a: Array[String]): Unit = { val p = Base.base; p.put(List("processing", "guarantee").mkString("."), "exactly_once"); Base.start(p) } }
object Lower { def main(a: Array[String]): Unit = { val p = Base.base; p.put("PROCESSING.GUARANTEE".map(_.toLower), "exactly_once"); Base.start(p) } }
trait Tuning { def tune(p: Properties): Unit }
object Listed { val all = List[Properties => Unit](p => p.put(Base.key, "x")); def main(a: Array[String]): Unit = { val p = Base.base; all.foreach(_(p)); Base.start(p) } }
object Sam { val all: Seq[Tuning] = Seq(p => p.put(Base.key, "x")); def main(a: Array[String]): Unit = { val p = Base.base; all.foreach(_.tune(p)); Base.start(p) } }
object Part { val f: PartialFunction[String, String] = { case "a" => Base.key }; def main(a: Array[String]): Unit = { val p = Base.base; p.put(f("a"), "x"); Base.start(p) } }
object Regexes { def main(a: Array[String]): Unit = { val p = Base.base; p.put("_".r.replaceAllIn("processing_guarantee", "."), "exactly_once"); Base.start(p) } }
object TryIt { def main(a: Array[String]): Unit = { val p = scala.util.Try { val q = Base.base; q.put(Base.key, "x"); q }.get; Base.start(p) } }
object Fut { def main(a: Array[String]): Unit = { import scala.concurrent._; import ExecutionContext.Implicits.global; val p = Base.base; Await.result(Future { p.put(Base.key, "x") }, duration.Duration.Inf); Base.start(p) } }
object Anon { def main(a: Array[String]): Unit = { Base.start(new Properties() { putAll(Base.base); put(Base.key, "x") }) } }
object Enu extends Enumeration { val processing_guarantee = Value }
object Enums { def main(a: Array[String]): Unit = { val p = Base.base; Enu.values.foreach(v => p.put(v.toString.replace("_", "."), "exactly_once")); Base.start(p) } }
