package styles

import java.util.Properties
import org.apache.kafka.streams.{KafkaStreams, StreamsConfig, Topology}
import scala.collection.JavaConverters._

// Each object makes settings in one way of Scala, and passes them to Kafka Streams.
object Common {
  val map: Map[String, AnyRef] =
    Map(StreamsConfig.APPLICATION_ID_CONFIG -> "scala", StreamsConfig.BOOTSTRAP_SERVERS_CONFIG -> "localhost:9")
  def topology: Topology = new Topology().addSource("source", "in")
}

object AsJava {
  val settings: Map[String, AnyRef] = Common.map ++ Map("processing.guarantee" -> StreamsConfig.EXACTLY_ONCE)
  def main(args: Array[String]): Unit = {
    val properties = new Properties()
    (properties: java.util.Map[AnyRef, AnyRef]).putAll(settings.asJava)
    properties.put(StreamsConfig.producerPrefix("acks"), "all")
    new KafkaStreams(Common.topology, properties).close()
  }
}

object Foreach {
  def main(args: Array[String]): Unit = {
    val properties = new Properties()
    (Common.map + ("processing.guarantee" -> "exactly_once")).foreach { case (key, value) => properties.put(key, value) }
    new KafkaStreams(Common.topology, properties).close()
  }
}

final case class Config(guarantee: String = "exactly_once", threads: Int = 2)

object CaseClass {
  def properties(config: Config): Properties = {
    val made = new Properties()
    Common.map.foreach(entry => made.put(entry._1, entry._2))
    made.put("processing.guarantee", config.guarantee)
    made.put("num.stream.threads", config.threads.toString)
    made
  }
  def main(args: Array[String]): Unit = new KafkaStreams(Common.topology, properties(Config())).close()
}

trait Settings {
  def guarantee: String
  lazy val properties: Properties = {
    val made = new Properties()
    (made: java.util.Map[AnyRef, AnyRef]).putAll(Common.map.asJava)
    made.put("processing.guarantee", guarantee)
    made
  }
}

object Traits extends Settings {
  override val guarantee = "exactly_once"
  def main(args: Array[String]): Unit = new KafkaStreams(Common.topology, properties).close()
}
