"""The effects of methods of Java, Kotlin, Scala and Kafka on keys and values of settings.

The first rule that fits counts: settings are passed to Kafka, a framework gives its own, a pair or a map is made, a
file is loaded, and whatever else collections do gives on what they have. All other code is foreign.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from streams_assignor.upgrade.application.bytecode import MemberRef
from streams_assignor.upgrade.application.flow_values import (
    LOST,
    NULL,
    Applied,
    Atom,
    Foreign,
    Function,
    Into,
    Invoke,
    Load,
    OfFramework,
    Passed,
    Put,
    Result,
    ResultOf,
    Used,
    Value,
    const,
    joined,
    named,
)
from streams_assignor.upgrade.application.value_flow import MethodRun, signature

_CONFIG: Final = "org/apache/kafka/streams/StreamsConfig"
_PREFIXES: Final[Mapping[str, str]] = {
    "consumerPrefix": "consumer.",
    "mainConsumerPrefix": "main.consumer.",
    "restoreConsumerPrefix": "restore.consumer.",
    "globalConsumerPrefix": "global.consumer.",
    "producerPrefix": "producer.",
    "adminClientPrefix": "admin.",
    "topicPrefix": "topic.",
    "clientTagPrefix": "client.tag.",
}
"""Static methods of ``StreamsConfig``."""
_SPRING: Final = "org/springframework/kafka/config/"
_TO_STREAMS: Final = re.compile(
    r"org/apache/kafka/streams/KafkaStreams#<init>|org/apache/kafka/streams/StreamsConfig#<init>|"
    rf"{_SPRING}(KafkaStreamsConfiguration#<init>|StreamsBuilderFactoryBean#(<init>|setStreamsConfiguration))"
)
_SETTINGS: Final = re.compile(r"java/util/(Properties|Map);|/StreamsConfig;|/KafkaStreamsConfiguration;")
"""The types of parameters that take settings."""
_TO_OTHERS: Final = re.compile(
    r"org/apache/kafka/clients/(producer/KafkaProducer#<init>|consumer/KafkaConsumer#<init>|"
    r"admin/(Kafka)?Admin(Client)?#create|(producer/Producer|consumer/Consumer|admin/AdminClient)Config#<init>)|"
    r"org/apache/kafka/streams/TopologyTestDriver#<init>|"
    r"org/springframework/kafka/core/(DefaultKafka(Producer|Consumer)Factory|KafkaAdmin)#<init>|.*Serde#configure|"
    r".*erializer#configure"
)
"""The clients of an application beside Streams, its tests, and what Streams never gets."""
_OF_FRAMEWORK: Final = re.compile(
    rf"org/springframework/cloud/stream/binder/kafka/.*#get\w*(Configuration|Properties)|{_SPRING}StreamsBuilderFactoryBean#getStreamsConfiguration|{_SPRING}KafkaStreamsConfiguration#asProperties|"
    r"io/micronaut/configuration/kafka/streams/(ConfiguredStreamBuilder#getConfiguration|\w+#getConfig)|"
    r"org/springframework/boot/(autoconfigure/kafka|kafka/autoconfigure)/KafkaProperties(\$Streams)?#"
    r"(build\w*Properties|getProperties)"
)
_MAP: Final = re.compile(
    r"java/util/(Properties|[A-Za-z$]*Map|Hashtable|Dictionary|concurrent/\w*Map)|.*Properties|scala/collection/.*Map\w*"
)
_PUTS: Final = frozenset(
    ("put", "setProperty", "putIfAbsent", "replace", "computeIfAbsent", "compute", "computeIfPresent", "merge", "set")
)
_PUTTERS: Final = _PUTS | {
    *("add", "addProperty", "property", "with", "withProperty", "withConfig", "update", "updated", "config", "append"),
    *("setConfig", "addConfig", "override", "addOne", "entry", "addString", "option", "setting", "define", "$plus"),
}
"""Names of methods that give a key a value, also of builders."""
_TEXT: Final = re.compile(r"java/(lang|text|util/regex)/.*")
"""They have methods with such names that give no key a value: ``String#replace``."""
_ANY_VALUE: Final = re.compile(r"(java/util/[\w$/]*|.*Properties)#(replaceAll|setValue)")
"""They change values, and not that of one key."""
_PAIRS: Final = re.compile(
    r"kotlin/(TuplesKt#to|Pair#<init>)|scala/Tuple2(\$mc\w+)?#<init>|java/util/Map#entry|"
    r"java/util/AbstractMap\$Simple(Immutable)?Entry#<init>|scala/Predef\$ArrowAssoc\$?#\$minus\$greater(\$extension)?|"
    r"com/google/common/collect/Maps#immutableEntry|.*/(Immutable)?Pair#of|scala/Tuple2\$#apply|"
    r"org/apache/kafka/common/utils/Utils#mkEntry"
)
_MAPS_OF: Final = re.compile(
    r"java/util/Map#of|java/util/Collections#singletonMap|com/google/common/collect/Immutable\w*Map#of|"
    r"io/micronaut/core/util/CollectionUtils#mapOf"
)
_LOADS: Final = re.compile(
    r"java/util/Properties#(load|loadFromXML)|org/apache/kafka/common/utils/Utils#loadProps|"
    r"org/springframework/core/io/support/PropertiesLoaderUtils#\w+"
)
_SAME: Final = re.compile(
    r"scala/Predef\$#(any2)?ArrowAssoc|java/util/Objects#requireNonNull|java/util/Map#copyOf|"
    r"java/util/Collections#(unmodifiable|synchronized|checked)Map|java/lang/(Object|String)#(clone|intern)"
)
"""They return their first argument, or a view of it."""
_ENVIRONMENT: Final = re.compile(r"(java/lang/System|scala/sys/package\$|scala/util/Properties\$)#(get)?(env|prop)\w*")
_COLLECTIONS: Final = re.compile(
    r"(java/util/(concurrent/|concurrent/atomic/|stream/)?\w*(Map|List|Set|Queue|Deque|Vector|Stack|Hashtable|Dictionary|"
    r"Properties|Collections?|Arrays|Iterator|Enumeration|Spliterators?|Optional|Objects|Stream|StreamSupport|Collectors?|"
    r"Future|CompletionStage|Executors?|ExecutorService|ForkJoin\w+|Reference|Entry)(\$\w+)?|java/util/function/\w+|"
    r"java/util/concurrent/Callable|java/lang/(Iterable|Object|Record|Enum|ThreadLocal|ref/\w+)|"
    r"kotlin/(?!(text|io|random|reflect|system|time|uuid)/).*|"
    r"scala/(?!(io|sys|xml)/|util/(Properties|Random|matching|parsing)|StringContext|Console|collection/(immutable/)?(String|Wrapped)).*|"
    r"com/google/common/collect/.*|io/vavr/.*)#(?!join|mkString|valueOf).*|"
    r"org/apache/kafka/common/utils/Utils#(mk(Map|Properties|ObjectProperties)|propsToMap|castToStringObjectMap)|"
    r"java/(io|nio)/.*#(<init>|get|of|open|newInputStream|newBufferedReader|resolve|toFile|toPath|toAbsolutePath|toURI|toURL)|"
    r"java/lang/(Class|ClassLoader|Module|Thread)#(getResource\w*|get\w*ClassLoader|getModule|currentThread)|"
    r"org/springframework/core/io/(ClassPathResource|FileSystemResource|DefaultResourceLoader)#.*"
)
"""Their results hold their arguments, and nothing else: collections, streams, and files by their names."""
_FUNCTION: Final = re.compile(
    r"java/util/(function/|concurrent/Callable)|kotlin/jvm/functions/|scala/(runtime/java8/J)?(Partial)?Function"
)
"""Interfaces of lambdas."""
_READS: Final = re.compile(
    r"(get|is|has|contains|equals|log|print|debug|info|warn|error|trace|fine|format|check|require|assert|startsWith|"
    r"endsWith|hash|compare|index|length|size|describe|valueOf|parse|read|lookup|remove|on|areEqual|throw).*|<init>"
)
"""Names of methods that do nothing with a key but look for it, or show it."""
_NEVER_CHANGE: Final = re.compile(
    r"(java/(?!lang/(reflect|invoke)/)|javax|jakarta|kotlin|scala|jdk|sun).*|org/(slf4j|apache/(kafka|log4j|logging|commons/logging)|"
    r"junit|assertj|hamcrest|mockito)/.*|io/micrometer/.*|ch/qos/.*"
)
"""Code that gets settings and adds none of Kafka's."""
PLAIN: Final = re.compile(r".*\)(\[*[BCDFIJSZ]|\[*Ljava/lang/(?!Object;)\w+;)")
"""Descriptors of methods that return no settings, nor anything that has them."""
_EXCEPTION: Final = re.compile(r".*(Exception|Error)")


def may_have_settings(type_name: str) -> bool:
    """Whether objects of a type of others may have settings from the beginning: neither Java's nor Kafka's have."""
    is_known = _NEVER_CHANGE.fullmatch(type_name) or _COLLECTIONS.fullmatch(f"{type_name}#<init>")
    return "/" in type_name and not type_name.startswith(("[", _SPRING)) and not is_known


def is_for_streams(ref: MemberRef) -> bool:
    """Whether a method takes settings of Kafka Streams."""
    return _TO_STREAMS.fullmatch(f"{ref.owner}#{ref.name}") is not None


def known_call(run: MethodRun, ref: MemberRef, is_static: bool, arguments: tuple[Value, ...], at: int) -> Value:
    """Tell what a call does by ``run.events``, and return its result."""
    text = f"{ref.owner}#{ref.name}"
    receiver, others = (NULL, arguments) if is_static else (arguments[0], arguments[1:])
    record = run.events.append
    if run.is_own(ref.owner):
        record(Invoke(ref, arguments, at))
        return named(Result(ref, arguments))
    if ref.owner == _CONFIG and ref.name in _PREFIXES:
        return joined([const(_PREFIXES[ref.name]), arguments[0]])
    if _TO_STREAMS.fullmatch(text) or _TO_OTHERS.fullmatch(text):
        for value, type_name in zip(others, signature(ref.descriptor).parameters, strict=True):
            if _SETTINGS.search(type_name):
                record(Passed(value, is_streams=_TO_STREAMS.fullmatch(text) is not None, at=at))
                record(Into(receiver, value, at))
        return frozenset({Foreign(run.ref, at, text)})
    if _OF_FRAMEWORK.fullmatch(text):
        return frozenset({OfFramework(run.ref, at)})
    if _SAME.fullmatch(text):
        return (*others, receiver)[0]
    if _PAIRS.fullmatch(text):
        return _pair(run, ref, arguments, at)
    if _MAPS_OF.fullmatch(text) and len(others) % 2 == 0:
        return _map(run, others, at)
    if _LOADS.fullmatch(text):
        return _load(run, receiver, others, at, is_static=is_static)
    if _ANY_VALUE.fullmatch(text):
        record(Put(receiver, LOST, LOST, at))
        return run.derived("", at, receiver)
    if (
        len(others) >= 2
        and ref.name in _PUTTERS
        and not _TEXT.fullmatch(ref.owner)
        and (_MAP.fullmatch(ref.owner) or len(others) == 2)
    ):
        record(Put(receiver, others[0], _put_value(ref, others), at, is_map=_MAP.fullmatch(ref.owner) is not None))
        given = [named(ResultOf(value, ())) for value in others[1:] if any(isinstance(a, Function) for a in value)]
        return run.derived("", at, receiver, *given)
    if ref.name == "remove" and _MAP.fullmatch(ref.owner) and others:
        record(Put(receiver, others[0], LOST, at))
        return run.derived("", at, receiver)
    if _COLLECTIONS.fullmatch(text) and not _EXCEPTION.fullmatch(ref.owner):
        return _collected(run, ref, receiver, others, at)
    return _foreign(run, ref, receiver, others, at)


def _put_value(ref: MemberRef, others: tuple[Value, ...]) -> Value:
    return LOST if ref.name.startswith(("compute", "merge")) or len(others) > 2 else others[1]


def _pair(run: MethodRun, ref: MemberRef, arguments: tuple[Value, ...], at: int) -> Value:
    if ref.name == "<init>":
        receiver, key, value, *_ = arguments
        run.events.append(Put(receiver, key, value, at))
        return NULL
    pair = run.made("pair", at)
    key, value = arguments[-2:]
    run.events.append(Put(pair, key, value, at))
    return pair


def _map(run: MethodRun, arguments: tuple[Value, ...], at: int) -> Value:
    made = run.made("map", at)
    for key, value in zip(arguments[::2], arguments[1::2], strict=True):
        run.events.append(Put(made, key, value, at))
    return made


def _load(run: MethodRun, receiver: Value, others: tuple[Value, ...], at: int, *, is_static: bool) -> Value:
    loaded = run.made("java/util/Properties", at) if is_static else receiver
    source = others[0] if others else NULL
    if len(others) > 1:  # PropertiesLoaderUtils#fillProperties
        loaded, source = others[0], others[1]
    run.events.append(Load(loaded, source, at))
    return loaded


def _collected(run: MethodRun, ref: MemberRef, receiver: Value, others: tuple[Value, ...], at: int) -> Value:
    """Return what a collection gives on; a lambda gets what the collection has, and its result is part of it."""
    if ref.owner.startswith("kotlin/jvm/internal/Intrinsics"):
        return LOST
    result = run.derived("", at, receiver)
    if _FUNCTION.match(ref.owner) and receiver:
        return _result_of(run, ref, receiver, others, at)
    has_lambda = False
    is_reading = ref.name in {"get", "getOrDefault", "getProperty", "getOrElse"} and bool(receiver)
    for value in others:
        for atom in value:
            if isinstance(atom, Function):
                has_lambda = True
                given = run.derived("given", at, *_without_functions((receiver, *others)))
                run.events.append(Into(result, _applied(run, atom, given, at), at))
        if not is_reading:
            run.events.append(Into(result, value, at))
            if receiver:
                run.events.append(Into(receiver, value, at, is_map=ref.name == "putAll"))
    if not receiver and not has_lambda and signature(ref.descriptor).result == "V":
        for value in others[1:]:
            run.events.append(Into(others[0], value, at))
    return result


def _result_of(run: MethodRun, ref: MemberRef, function: Value, arguments: tuple[Value, ...], at: int) -> Value:
    """Return what a function that is a value returns: those of others do what they do elsewhere."""
    results, own = list[Value](), set[Atom]()
    for atom in function:
        if isinstance(atom, Function) and not run.is_own(atom.ref.owner):
            results.append(_call(run, atom, arguments, at))
        else:
            own.add(atom)
    if own:
        run.events.append(Applied(ref, frozenset(own), arguments, at))
        results.append(named(ResultOf(frozenset(own), arguments)))
    return NULL.union(*results)


def _without_functions(values: tuple[Value, ...]) -> Iterator[Value]:
    return (value for value in values if not any(isinstance(atom, Function) for atom in value))


def _applied(run: MethodRun, function: Function, given: Value, at: int) -> Value:
    """Return what a function returns that gets what it has captured, and what a collection has."""
    free = len(signature(function.ref.descriptor).parameters) + (not function.is_static) - len(function.captured)
    arguments = (given,) * max(0, free)
    if run.is_own(function.ref.owner):
        run.events.append(Invoke(function.ref, (*function.captured, *arguments), at))
        return named(ResultOf(frozenset({function}), ()))
    return _call(run, function, arguments, at)


def _call(run: MethodRun, function: Function, arguments: tuple[Value, ...], at: int) -> Value:
    everything = (*function.captured, *arguments)
    result = run.call(function.ref, everything, is_static=function.is_static, at=at)
    return everything[0] if function.ref.name == "<init>" else result


def _foreign(run: MethodRun, ref: MemberRef, receiver: Value, others: tuple[Value, ...], at: int) -> Value:
    text = f"{ref.owner}#{ref.name}"
    is_changed = _NEVER_CHANGE.fullmatch(ref.owner) is None
    is_read = (_READS.fullmatch(ref.name) is not None and ref.name != "<init>") or _EXCEPTION.fullmatch(ref.owner)
    for value in (receiver, *others):
        for atom in value:
            if isinstance(atom, Function) and run.is_own(atom.ref.owner):
                run.events.append(Invoke(atom.ref, atom.captured, at))
    for value in others:
        if value and not is_read:
            run.events.append(Used(value, text, at, is_changed=is_changed))
    if ref.name == "<init>":
        for value in others:
            run.events.append(Into(receiver, value, at))
        return NULL
    words = "the environment" if _ENVIRONMENT.fullmatch(text) else text
    return frozenset({Foreign(run.ref, at, words, is_plain=PLAIN.fullmatch(ref.descriptor) is not None)})
