"""Replacements of removed methods of Kafka, and the effect on the numbers in names that Kafka gives.

No class file names a replacement: the rows are from the KIPs and Kafka's own documentation. Unnamed stores and internal
topics carry the number of their operator, so an operator more or less renames all behind it; ``NUMBERS_KEPT`` was seen
with ``Topology#describe()`` of 3.9.2, which has both forms (``test_replacements_java.py``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from attrs import frozen

from streams_assignor.upgrade.application.api_diff import full_text
from streams_assignor.upgrade.application.class_file import PRIVATE
from streams_assignor.upgrade.application.code import Code

NUMBERS_KEPT: Final = "the numbers of unnamed stores and internal topics stay"


@frozen
class Replacement:
    """The replacement of a member or class."""

    instead: str
    source: str
    numbers: str = ""
    """The effect on unnamed stores and internal topics; empty if it is about no operator."""
    also: str = ""
    """Further differences."""

    @property
    def text(self) -> str:
        """All of it in one line."""
        return "; ".join(part for part in (f"use {self.instead}", self.numbers, self.also) if part)

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "instead": self.instead,
            "numbers": self.numbers or None,
            "also": self.also or None,
            "source": self.source,
        }


_JAVADOC: Final = "Javadoc of the last release that has it"
_UNLESS_NAMED: Final = f"{NUMBERS_KEPT}, unless you add a name: it becomes part of theirs"
_OLD_STORES: Final = "Materialized, with the same name of the store"
_DURATIONS: Final = "KIP-358"
_GRACE: Final = "without grace() it was 24 h, so that WithNoGrace drops records that came late before"
_KIP_418: Final = f"{NUMBERS_KEPT}, with as many branches"
_PUNCTUATE: Final = "ProcessorContext#schedule(Duration, PunctuationType, Punctuator)"
_ROWS: Final[tuple[tuple[str, Replacement], ...]] = (
    (
        r"streams\.scala\.Serdes[$]?(#.*)?",
        Replacement(
            "streams.scala.serialization.Serdes",
            "KIP-616",
            also="its implicit values have names such as stringSerde and longSerde, and hide no types of Scala",
        ),
    ),
    (
        r"streams\.scala\.FunctionConversions[.$]?.*",
        Replacement("a function of Scala, which is one of Java's interfaces", _JAVADOC),
    ),
    (r"streams\.scala\.kstream\.Suppressed[.$]?.*", Replacement("streams.kstream.Suppressed", _JAVADOC)),
    (
        r"streams\.scala\.kstream\.KTable#(join|leftJoin)\(KTable, Function1, ValueJoiner, Named.*",
        Replacement("TableJoined.as(name)", "KIP-775", NUMBERS_KEPT),
    ),
    (
        r"streams\.TopologyTestDriver#pipeInput\(.*",
        Replacement("createInputTopic(...) and TestInputTopic#pipeInput", "KIP-470"),
    ),
    (
        r"streams\.TopologyTestDriver#readOutput\(.*",
        Replacement("createOutputTopic(...) and TestOutputTopic#readRecord", "KIP-470"),
    ),
    (
        r"streams\.TopologyTestDriver#TopologyTestDriver\(Topology, Properties, long\)",
        Replacement("the constructor with Instant", "KIP-470"),
    ),
    (r"streams\.TopologyTestDriver#advanceWallClockTime\(long\)", Replacement("the method with Duration", "KIP-470")),
    (
        r"streams\.test\.ConsumerRecordFactory(#.*)?",
        Replacement("TopologyTestDriver#createInputTopic(...) and TestInputTopic", "KIP-470"),
    ),
    (
        r"streams\.test\.OutputVerifier(#.*)?",
        Replacement("TopologyTestDriver#createOutputTopic(...), TestOutputTopic and assertions", "KIP-470"),
    ),
    (r"streams\.processor\.MockProcessorContext#setTimestamp\(.*", Replacement("setRecordTimestamp", _JAVADOC)),
    (
        r"streams\.kstream\.KStream#through\(.*",
        Replacement(
            "to(topic) and StreamsBuilder#stream(topic), or repartition()",
            "KIP-221",
            f"with to() and stream() {NUMBERS_KEPT}, and so does your topic; repartition() makes an internal topic "
            "instead, and takes two numbers more if it has no name",
        ),
    ),
    (
        r"streams\.kstream\.KStream#(flatT|t)ransform\(.*|streams\.kstream\.(Transformer|TransformerSupplier)(#.*)?",
        Replacement("process(api.ProcessorSupplier)", "KIP-820", NUMBERS_KEPT),
    ),
    (
        r"streams\.kstream\.KStream#(flatT|t)ransformValues\(.*|"
        r"streams\.kstream\.ValueTransformer(WithKey)?(Supplier)?(#(?!punctuate).*)?",
        Replacement(
            "processValues(api.FixedKeyProcessorSupplier)",
            "KIP-820",
            NUMBERS_KEPT,
            "with topology.optimization=all, repartition topics may not be merged as before (KAFKA-19668)",
        ),
    ),
    (
        r"streams\.kstream\.KStream#process\(.*|streams\.processor\.(AbstractProcessor|Processor|ProcessorSupplier)"
        r"(#(?!punctuate).*)?|streams\.(Topology#addProcessor|(Topology|StreamsBuilder)#addGlobalStore)\(.*",
        Replacement("the types of streams.processor.api", "KIP-478, KIP-820", NUMBERS_KEPT),
    ),
    (
        r"streams\.kstream\.KStream#branch\(.*",
        Replacement("split().branch(...)", "KIP-418", _KIP_418),
    ),
    (
        r"streams\.kstream\.K(Stream|Table)#groupBy(Key)?\(.*Serialized\)|streams\.kstream\.Serialized(#.*)?",
        Replacement("Grouped", "KIP-372", _UNLESS_NAMED),
    ),
    (
        r"streams\.kstream\.K(Stream|Table)#groupBy(Key)?\(.*Serde, Serde\)",
        Replacement("Grouped.with(Serde, Serde)", "KIP-182, KIP-372", _UNLESS_NAMED),
    ),
    (
        r"streams\.kstream\.KStream#(join|leftJoin|outerJoin)\(KStream, ValueJoiner, JoinWindows, (Joined|Serde.*)\)",
        Replacement("StreamJoined", "KIP-479", f"{NUMBERS_KEPT}, unless withStoreName or withName is set"),
    ),
    (
        r"streams\.kstream\.KStream#(join|leftJoin)\(KTable, ValueJoiner, Serde, Serde\)",
        Replacement("Joined.with(Serde, Serde, Serde)", "KIP-182", NUMBERS_KEPT),
    ),
    (
        r"streams\.kstream\.KTable#(join|leftJoin)\(KTable, Function, ValueJoiner, Named.*",
        Replacement("TableJoined.as(name)", "KIP-775", NUMBERS_KEPT),
    ),
    (
        r"streams\.kstream\.K(GroupedStream|GroupedTable|Table|Stream)#(aggregate|count|reduce|filter|filterNot|mapValues|"
        r"join|leftJoin|outerJoin)\(.*",
        Replacement(
            f"{_OLD_STORES}; windowedBy(...) for windows",
            "KIP-182",
            "a store without a name gets another one",
        ),
    ),
    (
        r"streams\.kstream\.KTable#(through|to|print|writeAsText|foreach)\(.*",
        Replacement("toStream() and the method there", "KIP-182", "through() was a table: read its topic with table()"),
    ),
    (
        r"streams\.kstream\.KStream#to\(.*",
        Replacement("to(topic, Produced)", "KIP-182", NUMBERS_KEPT),
    ),
    (
        r"streams\.kstream\.KStream#(print|writeAsText)\(.*",
        Replacement("print(Printed)", "KIP-182", NUMBERS_KEPT),
    ),
    (
        r"streams\.kstream\.KStreamBuilder(#.*)?",
        Replacement(
            "StreamsBuilder, and KafkaStreams(StreamsBuilder#build(), ...)",
            "KIP-120",
            "tables read their own topic no more as changelog, unless topology.optimization=all is passed to build",
        ),
    ),
    (
        r"streams\.processor\.TopologyBuilder(\..*)?(#.*)?|streams\.KafkaStreams#KafkaStreams\(TopologyBuilder.*|"
        r"streams\.errors\.TopologyBuilderException(#.*)?",
        Replacement("Topology, TopologyException", "KIP-120"),
    ),
    (
        r"streams\.(Consumed(#.*)?|StreamsBuilder#\w+\(.*\bConsumed\b.*)",
        Replacement("kstream.Consumed", "KIP-182", NUMBERS_KEPT),
    ),
    (
        r"streams\.(state\.Stores#create\(.*|state\.Stores\.\w*Factory(#.*)?|processor\.StateStoreSupplier(#.*)?)",
        Replacement("the suppliers and builders of Stores: keyValueStoreBuilder(...)", "KIP-182"),
    ),
    (
        r"streams\.state\.Stores#(persistentWindowStore|persistentSessionStore)\(.*",
        Replacement("the method with Durations", _DURATIONS, also="segments are not set any more (KIP-319)"),
    ),
    (
        r"streams\.(processor\.(Abstract)?Processor|kstream\.(Value)?Transformer)#punctuate\(.*|"
        r"streams\.processor\.ProcessorContext#schedule\(.*",
        Replacement(_PUNCTUATE, "KIP-138, KIP-358"),
    ),
    (
        r"streams\.processor\.ProcessorContext#forward\(.*",
        Replacement("forward(key, value, To.child(name))", "KIP-251"),
    ),
    (
        r"streams\.processor\.ProcessorContext#register\(.*",
        Replacement("register(StateStore, StateRestoreCallback)", _JAVADOC),
    ),
    (
        r"streams\.kstream\.TimeWindows#(of\(Duration\)|grace\(.*)",
        Replacement("ofSizeAndGrace or ofSizeWithNoGrace", "KIP-633", NUMBERS_KEPT, _GRACE),
    ),
    (
        r"streams\.kstream\.SessionWindows#(with\(Duration\)|grace\(.*)",
        Replacement("ofInactivityGapAndGrace or ofInactivityGapWithNoGrace", "KIP-633", NUMBERS_KEPT, _GRACE),
    ),
    (
        r"streams\.kstream\.SlidingWindows#withTimeDifferenceAndGrace\(.*",
        Replacement("ofTimeDifferenceAndGrace", "KIP-633", NUMBERS_KEPT),
    ),
    (
        r"streams\.kstream\.\w*Windows#(of|with|advanceBy|startOn|after|before)\(long\)",
        Replacement(
            "the method with Duration (3.0 and later: ofSizeWithNoGrace, ...)", f"{_DURATIONS}, KIP-633", NUMBERS_KEPT
        ),
    ),
    (
        r"streams\.kstream\.\w*Windows#(until|maintainMs|segments).*|streams\.state\.WindowBytesStoreSupplier#segments.*",
        Replacement(
            "Materialized#withRetention", "KIP-328, KIP-319", also="grace(Duration) says how late a record may be"
        ),
    ),
    (
        r"streams\.kstream\.Joined#(named|name)\(.*",
        Replacement("Joined.as(name)", "KIP-307", NUMBERS_KEPT),
    ),
    (
        r"streams\.kstream\.(TimeWindowedDeserializer#.*|WindowedSerdes#timeWindowedSerdeFrom\(Class\)|"
        r"WindowedSerdes\.TimeWindowedSerde#.*)",
        Replacement("the constructor with the size of the window", "KIP-659"),
    ),
    (
        r"streams\.KafkaStreams#setUncaughtExceptionHandler\(.*",
        Replacement(
            "setUncaughtExceptionHandler(StreamsUncaughtExceptionHandler)",
            "KIP-671",
            also="its answer decides: REPLACE_THREAD, SHUTDOWN_CLIENT (the default) or SHUTDOWN_APPLICATION",
        ),
    ),
    (r"streams\.KafkaStreams#close\(.*", Replacement("close(Duration)", _DURATIONS)),
    (r"streams\.KafkaStreams#store\(.*", Replacement("store(StoreQueryParameters)", "KIP-562")),
    (r"streams\.KafkaStreams#metadataForKey\(.*", Replacement("queryMetadataForKey", "KIP-535")),
    (
        r"streams\.KafkaStreams#allMetadata(ForStore)?\(.*|streams\.state\.StreamsMetadata(#.*)?",
        Replacement("metadataForAllStreamsClients, streamsMetadataForStore", "KIP-744"),
    ),
    (
        r"streams\.KafkaStreams#localThreadsMetadata\(.*|streams\.processor\.(Thread|Task)Metadata(#.*)?",
        Replacement("metadataForLocalThreads, and ThreadMetadata and TaskMetadata of streams", "KIP-744"),
    ),
    (r"streams\.KafkaStreams#toString\(.*", Replacement("metadataForLocalThreads, Topology#describe", "KIP-120")),
    (r"streams\.KafkaStreams\.State#isRunning\(.*", Replacement("isRunningOrRebalancing", _JAVADOC)),
    (
        r"streams\.KeyQueryMetadata#get\w+\(.*",
        Replacement("activeHost, standbyHosts, partition", "KIP-648"),
    ),
    (r"streams\.KafkaClientSupplier#getAdminClient\(.*", Replacement("getAdmin(Map)", "KIP-476")),
    (
        r"streams\.processor\.TaskId#(partition|topicGroupId|readFrom.*|writeTo.*)",
        Replacement("partition(), subtopology(); its bytes are internal", "KIP-740"),
    ),
    (
        r"streams\.(processor\.(PartitionGrouper|DefaultPartitionGrouper)(#.*)?|StreamsConfig#PARTITION_GROUPER_CLASS_CONFIG)",
        Replacement("nothing: Streams decides which partitions make a task", "KIP-528"),
    ),
    (
        r"streams\.processor\.UsePreviousTimeOnInvalidTimestamp(#.*)?",
        Replacement("UsePartitionTimeOnInvalidTimestamp", "KIP-530"),
    ),
    (
        r"streams\.processor\.StreamPartitioner#partition\(.*",
        Replacement("partitions(topic, key, value, numPartitions)", "KIP-837"),
    ),
    (
        r"streams\.processor\.StateStore#init\(.*",
        Replacement("init(StateStoreContext, StateStore)", "KIP-478"),
    ),
    (
        r"streams\.processor\.AbstractNotifying\w*RestoreCallback(#.*)?",
        Replacement("StateRestoreListener, BatchingStateRestoreCallback", "KIP-167"),
    ),
    (
        r"streams\.state\.(ReadOnly)?(Window|Session)Store#(fetch|fetchAll)\(.*",
        Replacement("the method with Instant, or with long on WindowStore itself", _DURATIONS),
    ),
    (r"streams\.state\.WindowStore#put\(.*", Replacement("put(key, value, windowStartTimestamp)", "KIP-474")),
    (
        r"streams\.StreamsMetrics#(add|record)\w*(Latency|Throughput)\w*\(.*",
        Replacement("addLatencyRateTotalSensor, addRateTotalSensor, and Sensor#record", "KIP-444"),
    ),
    (r"streams\.TopologyDescription\.Source#topics\(.*", Replacement("topicSet()", "KIP-321")),
    (
        r"streams\.StreamsConfig#(EXACTLY_ONCE|EXACTLY_ONCE_BETA)",
        Replacement(
            "EXACTLY_ONCE_V2", "KIP-732", also="javac copies the text, so only code that is compiled again fails"
        ),
    ),
    (
        r"streams\.StreamsConfig#TOPOLOGY_OPTIMIZATION",
        Replacement("TOPOLOGY_OPTIMIZATION_CONFIG", "KIP-626"),
    ),
    (
        r"streams\.StreamsConfig#(KEY_SERDE_CLASS_CONFIG|VALUE_SERDE_CLASS_CONFIG|TIMESTAMP_EXTRACTOR_CLASS_CONFIG|"
        r"keySerde\(.*|valueSerde\(.*)",
        Replacement("the default.* keys: DEFAULT_KEY_SERDE_CLASS_CONFIG, ...", "KIP-123"),
    ),
    (
        r"streams\.StreamsConfig#get(Main)?ConsumerConfigs\(.*",
        Replacement("getMainConsumerConfigs(groupId, clientId, threadIdx)", "KIP-276, KIP-345"),
    ),
    (
        r"streams\.StreamsConfig#(ZOOKEEPER_CONNECT_CONFIG|RETRIES_CONFIG|AUTO_INCLUDE_JMX_REPORTER_CONFIG|METRICS_0100_TO_24|"
        r"UPGRADE_FROM_\w+|\w+_DOC)",
        Replacement("nothing: the setting or the value is gone", "KIP-123, KIP-572, KIP-830"),
    ),
    (
        r"streams\.StreamsConfig#DEFAULT_WINDOWED_(KEY|VALUE)_SERDE_INNER_CLASS",
        Replacement("WINDOWED_INNER_CLASS_SERDE, or the serdes' own constructors", "KIP-1020"),
    ),
    (
        r"clients\.(admin\.(Admin|KafkaAdminClient|AdminClient)|consumer\.(Kafka|Mock)?Consumer|producer\.(Kafka|Mock)?Producer)"
        r"#close\(long, TimeUnit\)",
        Replacement("close(Duration)", "KIP-266, KIP-367"),
    ),
    (
        r"clients\.consumer\.(Kafka|Mock)?Consumer#poll\(long\)",
        Replacement("poll(Duration)", "KIP-266", also="it returns at its time limit, also if it has no assignment yet"),
    ),
    (r"clients\.consumer\.(Kafka|Mock)?Consumer#committed\(.*", Replacement("committed(Set)", "KIP-520")),
    (
        r"clients\.producer\.(Kafka|Mock)?Producer#sendOffsetsToTransaction\(.*",
        Replacement("sendOffsetsToTransaction(Map, ConsumerGroupMetadata)", "KIP-447"),
    ),
    (
        r"clients\.consumer\.ConsumerRecord#(checksum\(.*|ConsumerRecord\(.*|NULL_CHECKSUM)|"
        r"clients\.producer\.RecordMetadata#(checksum\(.*|RecordMetadata\(.*)",
        Replacement("the constructor without a checksum", _JAVADOC),
    ),
    (
        r"clients\.admin\.(DescribeTopicsResult|DeleteTopicsResult)#(values|all)\(.*",
        Replacement("topicNameValues, allTopicNames", "KIP-516"),
    ),
    (
        r"clients\.admin\.DescribeLogDirsResult#(values|all)\(.*",
        Replacement("descriptions, allDescriptions", "KIP-621"),
    ),
    (
        r"clients\.admin\.(Kafka|Forwarding)?Admin(Client)?#alterConfigs\(.*",
        Replacement("incrementalAlterConfigs", "KIP-339", also="it changes only what it names"),
    ),
    (
        r"clients\.admin\.((Admin|AdminClient)#electPreferredLeaders\(.*|ElectPreferredLeaders(Options|Result)(#.*)?)",
        Replacement("electLeaders(ElectionType.PREFERRED, ...)", "KIP-460"),
    ),
    (
        r"clients\.admin\.ListConsumerGroupOffsetsOptions#topicPartitions\(.*",
        Replacement("listConsumerGroupOffsets(Map of ListConsumerGroupOffsetsSpec)", "KIP-709"),
    ),
    (
        r"clients\.admin\.FeatureUpdate#(FeatureUpdate\(short, boolean\)|allowDowngrade\(.*)",
        Replacement("FeatureUpdate(short, UpgradeType)", "KIP-778"),
    ),
    (r"clients\.admin\.UpdateFeaturesOptions#dryRun\(.*", Replacement("validateOnly", "KIP-778")),
    (r"clients\.admin\.TopicListing#TopicListing\(.*", Replacement("TopicListing(name, Uuid, boolean)", "KIP-516")),
    (r"clients\.consumer\.MockConsumer#setException\(.*", Replacement("setPollException", _JAVADOC)),
    (
        r"clients\.consumer\.NoOffsetForPartitionException#partition\(.*",
        Replacement("partitions()", _JAVADOC),
    ),
    (
        r"clients\.(consumer\.ConsumerConfig#addDeserializerToConfig|producer\.ProducerConfig#addSerializerToConfig)\(.*",
        Replacement("the constructor of the client with serializers", _JAVADOC),
    ),
    (r"clients\.producer\.MockProducer#MockProducer\(.*", Replacement("the constructor with a Partitioner", _JAVADOC)),
    (
        r"clients\.producer\.(UniformStickyPartitioner(#.*)?|(\w*Partitioner)#onNewBatch\(.*)",
        Replacement("no partitioner.class: the built-in one is uniform and sticky", "KIP-794"),
    ),
    (r"common\.KafkaFuture#(thenApply|addWaiter)\(.*", Replacement("thenApply(BaseFunction), whenComplete", _JAVADOC)),
    (r"common\.KafkaFuture\.Function(#.*)?", Replacement("KafkaFuture.BaseFunction", _JAVADOC)),
    (r"common\.(Metric|metrics\.KafkaMetric)#value\(.*", Replacement("metricValue()", "KIP-188")),
    (
        r"common\.metrics\.stats\.(Count|Sum|Total|Rate\.SampledTotal)(#.*)?",
        Replacement("WindowedCount, WindowedSum, CumulativeSum", _JAVADOC),
    ),
    (
        r"common\.serialization\.Extended(Des|S)erializer(\.Wrapper)?(#.*)?",
        Replacement("Serializer and Deserializer, which have methods with headers", "KIP-336"),
    ),
    (
        r"common\.(acl\.AclBinding(Filter)?#.*|resource\.(ResourceFilter(#.*)?|Resource#toFilter\(.*))",
        Replacement("ResourcePattern, ResourcePatternFilter", "KIP-290"),
    ),
    (
        r"common\.security\.auth\.((Default)?PrincipalBuilder(#.*)?|KafkaPrincipal#fromString\(.*)|"
        r"common\.config\.SslConfigs#.*PRINCIPAL_BUILDER.*",
        Replacement("KafkaPrincipalBuilder", "KIP-189"),
    ),
    (r"common\.MessageFormatter#init\(.*", Replacement("configure(Map)", _JAVADOC)),
    (
        r"common\.errors\.(NotLeaderForPartitionException|GroupCoordinatorNotAvailableException|GroupLoadInProgressException|"
        r"NotCoordinatorForGroupException)(#.*)?",
        Replacement(
            "NotLeaderOrFollowerException; CoordinatorNotAvailableException, CoordinatorLoadInProgressException, "
            "NotCoordinatorException",
            _JAVADOC,
        ),
    ),
    (
        r"common\.metrics\.JmxReporter#.*",
        Replacement("JmxReporter(), with metrics.jmx.include and metrics.jmx.exclude", "KIP-544, KIP-629"),
    ),
    (
        r"common\.config\.(SaslConfigs#.*SASL_(ENABLED_MECHANISMS|KERBEROS_PRINCIPAL_TO_LOCAL_RULES).*|"
        r"SslConfigs#SSL_CLIENT_AUTH.*)",
        Replacement("nothing: it is a setting of brokers", _JAVADOC),
    ),
    (r"clients\.admin\.ConfigEntry#ConfigEntry\(.*", Replacement("ConfigEntry(name, value)", _JAVADOC)),
    (
        r"clients\.admin\.DescribeTopicsResult#DescribeTopicsResult\(.*",
        Replacement("nothing: Admin makes it", _JAVADOC),
    ),
    (
        r".*#(\w*AUTO_INCLUDE_JMX_REPORTER\w*|MESSAGE_FORMAT_VERSION\w*|MESSAGE_TIMESTAMP_DIFFERENCE_MAX_MS\w*)",
        Replacement("nothing: the setting is gone", "KIP-830, KIP-724, KIP-937"),
    ),
)
_PATTERNS: Final = tuple((re.compile(pattern), row) for pattern, row in _ROWS)
_ROOT: Final = "org.apache.kafka."
_AS_IN_JAVA: Final = re.compile(r"(streams\.)scala\.|(streams\.processor\.)Mock(?=ProcessorContext#)")
"""Classes whose methods have the replacements of those with the same names."""


def replacement(text: str) -> Replacement | None:
    """Return what to call instead of a class or member that is written as in Java's sources; None if it is not known.

    >>> replacement("org.apache.kafka.streams.KafkaStreams#close(long, TimeUnit)").text
    'use close(Duration)'
    """
    plain = text.removeprefix(_ROOT)
    rows = (
        row
        for name in (plain, _AS_IN_JAVA.sub(r"\1\2", plain))
        for pattern, row in _PATTERNS
        if pattern.fullmatch(name)
    )
    return next(rows, None)


def overloads(code: Code, owner: str, name: str) -> Iterator[str]:
    """Yield the methods with the same name that a class still has: candidates where no row names a replacement."""
    kafka_class = code.get(owner)
    for (member, descriptor), flags in sorted(kafka_class.members.items()) if kafka_class else ():
        if member == name and not flags & PRIVATE:
            yield full_text(owner, member, descriptor).partition("#")[2]
