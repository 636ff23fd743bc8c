package evasions;

import java.io.*;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.function.*;
import java.util.stream.*;
import org.apache.kafka.streams.*;
import library.Library;

/** Each class may set any key, or the guarantee, in a way that is hard to see. */
class Base {
    static Properties settings() {
        Properties settings = new Properties();
        settings.put("application.id", "a");
        settings.put("bootstrap.servers", "localhost:9");
        return settings;
    }

    static String key() {
        return System.getenv("KEY");
    }

    static KafkaStreams start(Properties settings) {
        return new KafkaStreams(new Topology(), settings);
    }
}

class ByFieldinject {
    static class Cfg { @Library.Bean Properties props() { return Base.settings(); } @Library.Bean KafkaStreams s() { return Base.start(props()); } }
    static class Tuner { @Library.Inject Properties p; void tune() { p.setProperty(Base.key(), "x"); } }
}

class ByCtorinject {
    static class Cfg { @Library.Bean Map<String,Object> props() { Map<String,Object> m = new HashMap<>(); m.put("application.id", "x"); return m; } @Library.Bean KafkaStreams s() { Properties p = new Properties(); p.putAll(props()); return Base.start(p); } }
    static class Tuner { final Map<String,Object> m; @Library.Inject Tuner(Map<String,Object> m) { this.m = m; } void tune() { m.put(Base.key(), "x"); } }
}

class ByParaminject {
    static class Cfg { @Library.Bean Properties props() { return Base.settings(); } @Library.Bean KafkaStreams s() { return Base.start(props()); } }
    static class Tuner implements Library.Hook { public void customize(Map<String,Object> m) { m.putAll(System.getenv()); } }
}

class ByGetbean {
    static class Cfg { @Library.Bean Properties props() { return Base.settings(); } @Library.Bean KafkaStreams s() { return Base.start(props()); } 
      static void tune() { Library.Context.getBean(Properties.class).put(Base.key(), "x"); } }
}

class ByReflectput {
    static class M { public static void main(String[] a) throws Exception { Properties p = Base.settings(); Properties.class.getMethod("put", Object.class, Object.class).invoke(p, Base.key(), "x"); Base.start(p); } }
}

class ByHandleput {
    static class M { public static void main(String[] a) throws Throwable { Properties p = Base.settings(); var h = java.lang.invoke.MethodHandles.lookup().findVirtual(Properties.class, "put", java.lang.invoke.MethodType.methodType(Object.class, Object.class, Object.class)); Object o = h.invoke(p, (Object) Base.key(), (Object) "x"); Base.start(p); } }
}

class ByRefput {
    static class M { public static void main(String[] a) { Properties p = Base.settings(); System.getenv().forEach(p::put); Base.start(p); } }
}

class ByRefput2 {
    static class M { public static void main(String[] a) { Properties p = Base.settings(); BiFunction<Object,Object,Object> f = p::put; f.apply(Base.key(), "x"); Base.start(p); } }
}

class ByRefset {
    static class M { public static void main(String[] a) { Properties p = Base.settings(); System.getProperties().stringPropertyNames().stream().filter(k -> k.startsWith("kafka.")).forEach(k -> p.setProperty(k.substring(6), System.getProperty(k))); Base.start(p); } }
}

class ByLazymap {
    static class Env extends AbstractMap<String,Object> { public Set<Map.Entry<String,Object>> entrySet() { return (Set) System.getenv().entrySet(); } }
    static class M { public static void main(String[] a) { Properties p = Base.settings(); p.putAll(new Env()); Base.start(p); } }
}

class ByOverridden {
    static class P extends Properties { @Override public String getProperty(String k) { return System.getenv(k); } @Override public synchronized Object get(Object k) { return System.getenv((String) k); } }
    static class M { public static void main(String[] a) { P p = new P(); p.putAll(Base.settings()); Base.start(p); } }
}

class ByService {
    interface Customizer { void customize(Properties p); }
    static class M { public static void main(String[] a) { Properties p = Base.settings(); for (Customizer c : ServiceLoader.load(Customizer.class)) c.customize(p); Base.start(p); } }
}

class ByReturnedtolib {
    static class App extends Library.Base { protected Properties config() { Properties p = Base.settings(); p.put(Base.key(), "x"); return p; } }
    static class M { public static void main(String[] a) { new App().run(); Properties q = new Properties(); q.put("application.id", "q"); Base.start(q); } }
}

class ByBeanmap {
    static class Cfg { @Library.Bean Map<String,Object> config() { Map<String,Object> p = new HashMap<>(); p.put(Base.key(), "x"); return p; } }
    static class M { public static void main(String[] a) { Base.start(Base.settings()); } }
}

class ByConfprops {
    static class K { private Map<String,String> properties = new HashMap<>(); public Map<String,String> getProperties() { return properties; } public void setProperties(Map<String,String> m) { properties = m; } }
    static class R { final K k; @Library.Inject R(K k) { this.k = k; } KafkaStreams s() { Properties p = Base.settings(); p.putAll(k.getProperties()); return Base.start(p); } }
}

class ByConfprops2 {
    static class K { private final Map<String,String> properties = new HashMap<>(); public Map<String,String> getProperties() { return properties; } }
    static class R { final K k; @Library.Inject R(K k) { this.k = k; } KafkaStreams s() { Properties p = Base.settings(); p.putAll(k.getProperties()); return Base.start(p); } }
}

class ByJackson {
    static class K { public Map<String,String> kafka = new HashMap<>(); }
    static class M { public static void main(String[] a) { K k = new Library.Mapper().read("c.json", K.class); Properties p = Base.settings(); p.putAll(k.kafka); Base.start(p); } }
}

class ByJacksonctor {
    static class K { final Map<String,String> kafka; K(Map<String,String> m) { kafka = m; } static K none() { return new K(new HashMap<>()); } }
    static class M { public static void main(String[] a) { K k = new Library.Mapper().read("c.json", K.class); Properties p = Base.settings(); p.putAll(k.kafka); Base.start(p); } }
}

class ByPicocli {
    static class M implements Runnable { @Library.Option Map<String,String> config = new HashMap<>(); public void run() { Properties p = Base.settings(); p.putAll(config); Base.start(p); } public static void main(String[] a) { M m = new M(); new Library.Mapper().fill(m); m.run(); } }
}

class ByPicocli2 {
    static class M implements Runnable { @Library.Option Map<String,String> config = new HashMap<>(); public void run() { Properties p = Base.settings(); p.putAll(config); Base.start(p); } public static void main(String[] a) { Library.Boot.run(M.class, a); } }
}

class ByPicoclistatic {
    static class M { @Library.Option static Map<String,String> config = new HashMap<>(); public static void main(String[] a) { Library.Boot.run(M.class, a); Properties p = Base.settings(); p.putAll(config); Base.start(p); } }
}

class ByReadobject {
    static class M { public static void main(String[] a) throws Exception { Properties p = (Properties) new ObjectInputStream(new FileInputStream("x.ser")).readObject(); Base.start(p); } }
}

class ByReadline {
    static class M { public static void main(String[] a) throws Exception { Properties p = Base.settings(); BufferedReader r = new BufferedReader(new FileReader("x.txt")); p.put(r.readLine(), r.readLine()); Base.start(p); } }
}

class ByReadlines {
    static class M { public static void main(String[] a) throws Exception { Properties p = Base.settings(); List<String> l = Files.readAllLines(Paths.get("x.txt")); p.put(l.get(0), l.get(1)); Base.start(p); } }
}

class ByFilelines {
    static class M { public static void main(String[] a) throws Exception { Properties p = Base.settings(); Files.lines(Path.of("x.txt")).forEach(k -> p.put(k, "x")); Base.start(p); } }
}

class ByFiles {
    static class M { public static void main(String[] a) throws Exception { Properties p = Base.settings(); for (File f : new File("/etc/kafka.d").listFiles()) p.put(f.getName(), Files.readString(f.toPath())); Base.start(p); } }
}

class ByPrefs {
    static class M { public static void main(String[] a) throws Exception { Properties p = Base.settings(); var n = java.util.prefs.Preferences.userRoot().node("k"); for (String k : n.keys()) p.put(k, n.get(k, "")); Base.start(p); } }
}

class ByBase64 {
    static class M { public static void main(String[] a) throws Exception { Properties p = Base.settings(); p.put(new String(Base64.getDecoder().decode("cHJvY2Vzc2luZy5ndWFyYW50ZWU=")), "exactly_once"); Base.start(p); } }
}

class ByChars {
    static class M { public static void main(String[] a) throws Exception { Properties p = Base.settings(); char[] c = {'p','r','o'}; p.put(String.valueOf(c) + "cessing.guarantee", "exactly_once"); Base.start(p); } }
}

class ByChars2 {
    static class M { public static void main(String[] a) throws Exception { Properties p = Base.settings(); char[] c = "processing_guarantee".toCharArray(); c[10] = '.'; p.put(String.valueOf(c), "exactly_once"); Base.start(p); } }
}

class ByMapref {
    static class M { public static void main(String[] a) throws Exception { Properties p = Base.settings(); Stream.of("PROCESSING.GUARANTEE").map(String::toLowerCase).forEach(k -> p.put(k, "exactly_once")); Base.start(p); } }
}

class ByCallable {
    static class L implements Callable<Properties> { public Properties call() { Properties p = Base.settings(); p.put(Base.key(), "x"); return p; } }
    static class M { public static void main(String[] a) throws Exception { Callable<Properties> c = new L(); Base.start(c.call()); } }
}

class ByIterator {
    static class It implements Iterator<String> { public boolean hasNext() { return true; } public String next() { return Base.key(); } }
    static class M { public static void main(String[] a) throws Exception { Properties p = Base.settings(); Iterator<String> i = new It(); while (i.hasNext()) p.put(i.next(), "x"); Base.start(p); } }
}

class ByEntry {
    static class E implements Map.Entry<String,String> { public String getKey() { return Base.key(); } public String getValue() { return "x"; } public String setValue(String s) { return s; } }
    static class M { public static void main(String[] a) throws Exception { Properties p = Base.settings(); List<Map.Entry<String,String>> all = List.of(new E()); for (Map.Entry<String,String> e : all) p.put(e.getKey(), e.getValue()); Base.start(p); } }
}

class ByStringreader {
    static class M { public static void main(String[] a) throws Exception { Properties p = Base.settings(); p.load(new StringReader("processing.guarantee=exactly_once")); Base.start(p); } }
}

class ByCustomizers {
    interface Customizer { void customize(Properties p); }
    static class M { public static void main(String[] a) throws Exception { Properties p = Base.settings(); List<Customizer> all = List.of(q -> q.put(Base.key(), "x")); for (Customizer c : all) c.customize(p); Base.start(p); } }
}

class ByConsumers {
    static class M { static final Map<String, Consumer<Properties>> ALL = new HashMap<>(); static { ALL.put("a", q -> q.put(Base.key(), "x")); }
     public static void main(String[] a) throws Exception { Properties p = Base.settings(); ALL.get("a").accept(p); ALL.values().forEach(c -> c.accept(p)); Base.start(p); } }
}

class ByCtorref {
    static class M { public static void main(String[] a) throws Exception { Properties p = Base.settings(); p.put(Base.key(), "x"); BiFunction<Topology, Properties, KafkaStreams> f = KafkaStreams::new; f.apply(new Topology(), p); } }
}

class BySetvalue {
    static class M { public static void main(String[] a) throws Exception { Properties p = Base.settings(); p.put("processing.guarantee", "at_least_once"); for (Map.Entry<Object,Object> e : p.entrySet()) if (e.getKey().equals(a[0])) e.setValue("exactly_" + "once".toLowerCase()); Base.start(p); } }
}

class ByReplaceall {
    static class M { public static void main(String[] a) throws Exception { Properties p = Base.settings(); p.put("processing.guarantee", "at_least_once"); p.replaceAll((k, v) -> v.toString().replace("at_least", "exactly")); Base.start(p); } }
}

class BySpringdefaults {
    static class M { public static void main(String[] a) throws Exception { Library.Boot.defaults(Map.of("spring.kafka.streams.properties.processing.guarantee", "exactly_once")); Base.start(Base.settings()); } }
}

class BySpringkv {
    static class M { public static void main(String[] a) throws Exception { Library.Boot.properties("spring.kafka.streams.properties.processing.guarantee=exactly_once"); Base.start(Base.settings()); } }
}

class BySysprop {
    static class M { public static void main(String[] a) throws Exception { System.setProperty("spring.kafka.streams.properties.processing.guarantee", "exactly_once"); Base.start(Base.settings()); } }
}

class ByCollect {
    static class M { public static void main(String[] a) throws Exception { Properties p = System.getenv().entrySet().stream().collect(Properties::new, (q, e) -> q.put(e.getKey(), e.getValue()), Map::putAll); p.putAll(Base.settings()); Base.start(p); } }
}

class ByCollect2 {
    static class M { public static void main(String[] a) throws Exception { Properties p = Stream.of(Base.key()).collect(Collectors.toMap(k -> k, k -> "x", (x, y) -> x, Properties::new)); Base.start(p); } }
}

class ByCollect3 {
    static class M { public static void main(String[] a) throws Exception { Map<String,String> p = Arrays.stream(a).map(s -> s.split("=")).collect(Collectors.toMap(s -> s[0], s -> s[1])); Properties q = Base.settings(); q.putAll(p); Base.start(q); } }
}

class ByArgs {
    static class M { public static void main(String[] a) throws Exception { Properties q = Base.settings(); for (int i = 0; i < a.length; i += 2) q.put(a[i], a[i + 1]); Base.start(q); } }
}

class ByRecords {
    record Entry(String k, String v) {}
    static class M { public static void main(String[] a) throws Exception { Properties q = Base.settings(); for (Entry e : List.of(new Entry(Base.key(), "x"))) q.put(e.k(), e.v()); Base.start(q); } }
}

class ByEnumkeys {
    enum Key { PROCESSING_GUARANTEE("exactly_once"); final String v; Key(String v) { this.v = v; } String key() { return name().toLowerCase().replace('_', '.'); } }
    static class M { public static void main(String[] a) throws Exception { Properties q = Base.settings(); for (Key k : Key.values()) q.put(k.key(), k.v); Base.start(q); } }
}

class ByEnumname {
    enum Key { processing_guarantee; }
    static class M { public static void main(String[] a) throws Exception { Properties q = Base.settings(); EnumMap<Key, String> m = new EnumMap<>(Key.class); m.put(Key.processing_guarantee, "exactly_once"); m.forEach((k, v) -> q.put(k.name().replace("_", "."), v)); Base.start(q); } }
}

class ByEnumtostring {
    enum Key { G { public String toString() { return Base.key(); } } }
    static class M { public static void main(String[] a) throws Exception { Properties q = Base.settings(); for (Key k : Key.values()) q.put(k.toString(), "x"); for (Key k : Key.values()) q.put(String.valueOf(k), "x"); Base.start(q); } }
}

class ByTostring {
    static class T { public String toString() { return Base.key(); } }
    static class M { public static void main(String[] a) throws Exception { Properties q = Base.settings(); Object t = new T(); q.put(t.toString(), "x"); Base.start(q); } }
}

class ByReflectfield {
    static class M { public static void main(String[] a) throws Exception { Properties q = Base.settings(); for (var f : StreamsConfig.class.getFields()) { String v = System.getenv(f.getName()); if (v != null) q.put(f.get(null), v); } Base.start(q); } }
}

class BySubconfig {
    static class Mine extends StreamsConfig { Mine(Map<?, ?> p) { super(merged(p)); } static Map<Object,Object> merged(Map<?, ?> p) { Map<Object,Object> m = new HashMap<>(p); m.put(Base.key(), "x"); return m; } }
    static class M { public static void main(String[] a) throws Exception { new KafkaStreams(new Topology(), new Mine(Base.settings())); } }
}

class BySubconfig2 {
    static class Mine extends StreamsConfig { Mine(Map<?, ?> p) { super(p); } @Override public String getString(String k) { return System.getenv(k); } }
    static class M { public static void main(String[] a) throws Exception { new KafkaStreams(new Topology(), new Mine(Base.settings())); } }
}

class BySupplier {
    static class M { public static void main(String[] a) throws Exception { new KafkaStreams(new Topology(), Base.settings(), new org.apache.kafka.streams.processor.internals.DefaultKafkaClientSupplier() { @Override public org.apache.kafka.clients.producer.Producer<byte[], byte[]> getProducer(Map<String,Object> c) { c.put(Base.key(), "x"); return super.getProducer(c); } }); } }
}

class ByTernarymap {
    static class M { static Properties a, b; public static void main(String[] x) throws Exception { a = Base.settings(); b = a; Properties[] both = new Properties[2]; both[0] = a; System.arraycopy(both, 0, both, 1, 1); both[1].put(Base.key(), "x"); Base.start(a); } }
}

class ByOptional {
    static class M { public static void main(String[] x) throws Exception { Properties p = Base.settings(); Optional.of(p).ifPresent(q -> q.put(Base.key(), "x")); Base.start(p); } }
}

class ByTap {
    static class M { static <T> T tap(T t, Consumer<? super T> c) { c.accept(t); return t; } public static void main(String[] x) throws Exception { Base.start(tap(Base.settings(), q -> q.put(Base.key(), "x"))); } }
}

class ByGenerics {
    static class Holder<T> { private T t; void set(T t) { this.t = t; } T get() { return t; } }
    static class M { public static void main(String[] x) throws Exception { Holder<Properties> h = new Holder<>(); h.set(Base.settings()); h.get().put(Base.key(), "x"); Base.start(h.get()); } }
}

class ByClone {
    static class M { public static void main(String[] x) throws Exception { Properties p = Base.settings(); p.put(Base.key(), "x"); Base.start((Properties) p.clone()); } }
}

class ByException {
    static class M { public static void main(String[] x) throws Exception { Properties p = Base.settings(); try { if (x.length > 1) throw new IllegalStateException(Base.key()); } catch (IllegalStateException e) { p.put(e.getMessage(), "x"); } Base.start(p); } }
}

class ByExceptioncarry {
    static class Carry extends RuntimeException { final Properties p; Carry(Properties p) { this.p = p; } }
    static class M { public static void main(String[] x) throws Exception { Properties p = Base.settings(); try { throw new Carry(p); } catch (Carry c) { c.p.put(Base.key(), "x"); } Base.start(p); } }
}

class ByThreadrun {
    static class M { public static void main(String[] x) throws Exception { Properties p = Base.settings(); Thread t = new Thread(() -> p.put(Base.key(), "x")); t.start(); t.join(); Base.start(p); } }
}

class ByEvent {
    static class Bus { final List<Consumer<Object>> all = new ArrayList<>(); void on(Consumer<Object> c) { all.add(c); } void fire(Object o) { all.forEach(c -> c.accept(o)); } }
    static class M { public static void main(String[] x) throws Exception { Properties p = Base.settings(); Bus b = new Bus(); b.on(o -> ((Properties) o).put(Base.key(), "x")); b.fire(p); Base.start(p); } }
}

class ByInner {
    static class M { final Properties p = Base.settings(); class In { void tune() { p.put(Base.key(), "x"); } } void go() { new In().tune(); Base.start(p); } public static void main(String[] x) { new M().go(); } }
}

class ByAbstracttemplate {
    abstract static class T { void go() { Properties p = Base.settings(); more(p); Base.start(p); } abstract void more(Properties p); }
    static class M extends T { void more(Properties p) { p.put(Base.key(), "x"); } public static void main(String[] x) { new M().go(); } }
}

class ByIdentity {
    static class M { static final Map<Properties,String> S = new IdentityHashMap<>(); public static void main(String[] x) { Properties p = Base.settings(); S.put(p, "a"); for (Properties q : S.keySet()) q.put(Base.key(), "x"); Base.start(p); } }
}

class ByWeak {
    static class M { public static void main(String[] x) { Properties p = Base.settings(); var r = new java.lang.ref.WeakReference<>(p); r.get().put(Base.key(), "x"); Base.start(p); } }
}

class ByDeque {
    static class M { public static void main(String[] x) { Deque<Map<Object,Object>> d = new ArrayDeque<>(); Properties p = Base.settings(); d.push(p); d.peek().put(Base.key(), "x"); Base.start(p); } }
}

class ByLocale {
    static class M { public static void main(String[] x) { Properties p = Base.settings(); p.put(Locale.getDefault().getDisplayName(), "x"); p.put(new Date().toString(), "x"); Base.start(p); } }
}

class ByIoresource {
    static class M { public static void main(String[] x) throws Exception { Properties p = Base.settings(); p.load(M.class.getResourceAsStream("/defaults.properties")); Base.start(p); } }
}

class ByBundle {
    static class M { public static void main(String[] x) throws Exception { Properties p = Base.settings(); ResourceBundle b = ResourceBundle.getBundle("streams"); for (String k : b.keySet()) p.put(k, b.getString(k)); Base.start(p); } }
}

class ByFormat {
    static class M { public static void main(String[] x) throws Exception { Properties p = Base.settings(); p.put(new Formatter().format("%s.%s", "processing", "guarantee").toString(), "exactly_once"); Base.start(p); } }
}

class ByJoiner {
    static class M { public static void main(String[] x) throws Exception { Properties p = Base.settings(); p.put(Stream.of("processing", "guarantee").collect(Collectors.joining(".")), "exactly_once"); p.put(new StringJoiner(".").add("processing").add("guarantee").toString(), "x"); Base.start(p); } }
}

class ByReduce {
    static class M { public static void main(String[] x) throws Exception { Properties p = Base.settings(); p.put(Stream.of("processing", "guarantee").reduce((a, b) -> a + "." + b).get(), "exactly_once"); Base.start(p); } }
}

class ByScanner {
    static class M { public static void main(String[] x) throws Exception { Properties p = Base.settings(); Scanner s = new Scanner(System.in); p.put(s.next(), s.next()); Base.start(p); } }
}

class ByRegex {
    static class M { public static void main(String[] x) throws Exception { Properties p = Base.settings(); p.put(java.util.regex.Pattern.compile("_").matcher("processing_guarantee").replaceAll("."), "exactly_once"); Base.start(p); } }
}

class ByZipres {
    static class M { public static void main(String[] x) throws Exception { Properties p = Base.settings(); for (Enumeration<?> e = new java.util.zip.ZipFile("a.zip").entries(); e.hasMoreElements();) p.put(e.nextElement().toString(), "x"); Base.start(p); } }
}

class ByText2 {
    static class M { public static void main(String[] x) throws Exception { Properties p = Base.settings(); StringWriter w = new StringWriter(); w.write("processing"); w.write(".guarantee"); p.put(w.toString(), "exactly_once"); Base.start(p); } }
}

class ByBytes {
    static class M { public static void main(String[] x) throws Exception { Properties p = Base.settings(); p.put(new String(new byte[] {112, 114}, "UTF-8") + "ocessing.guarantee", "exactly_once"); Base.start(p); } }
}

class ByAtomic {
    static class M { public static void main(String[] x) throws Exception { Properties p = Base.settings(); var r = new java.util.concurrent.atomic.AtomicReference<>("a"); r.updateAndGet(String::toUpperCase); p.put(r.get(), "x"); p.put(r.updateAndGet(k -> Base.key()), "x"); Base.start(p); } }
}

class BySupplierown {
    static class S implements Supplier<Properties> { public Properties get() { Properties p = Base.settings(); p.put(Base.key(), "x"); return p; } }
    static class M { public static void main(String[] x) throws Exception { Supplier<Properties> s = new S(); Base.start(s.get()); } }
}

class ByLazyown {
    static class Lazy<T> { final Supplier<T> s; T t; Lazy(Supplier<T> s) { this.s = s; } T get() { if (t == null) t = s.get(); return t; } }
    static class M { public static void main(String[] x) throws Exception { Lazy<Properties> l = new Lazy<>(() -> { Properties p = Base.settings(); p.put(Base.key(), "x"); return p; }); Base.start(l.get()); } }
}

class ByNav {
    static class M { public static void main(String[] x) throws Exception { TreeMap<String,Object> t = new TreeMap<>(); t.put(Base.key(), "x"); Properties p = Base.settings(); p.putAll(t.headMap("z", true).descendingMap()); Base.start(p); } }
}

class ByEntrystream {
    static class M { public static void main(String[] x) throws Exception { Properties p = Base.settings(); Map.of("KEY", "x").entrySet().stream().map(e -> Map.entry(e.getKey().toLowerCase(), e.getValue())).forEach(e -> p.put(e.getKey(), e.getValue())); Base.start(p); } }
}

class ByFuture {
    static class M { public static void main(String[] x) throws Exception { Properties p = CompletableFuture.supplyAsync(() -> { Properties q = Base.settings(); q.put(Base.key(), "x"); return q; }).get(); Base.start(p); } }
}

class ByExecutor {
    static class M { static class C implements Callable<Properties> { public Properties call() { Properties q = Base.settings(); q.put(Base.key(), "x"); return q; } } public static void main(String[] x) throws Exception { Base.start(Executors.newCachedThreadPool().submit(new C()).get()); } }
}

class ByComparator {
    static class M { static class C implements Function<String,String> { public String apply(String k) { return Base.key(); } } public static void main(String[] x) throws Exception { Properties p = Base.settings(); Stream.of("a").map(new C()).forEach(k -> p.put(k, "x")); Base.start(p); } }
}

class ByCollector3 {
    static class M { static class C implements BiConsumer<String,String> { final Properties p; C(Properties p) { this.p = p; } public void accept(String k, String v) { p.put(k, v); } } public static void main(String[] x) throws Exception { Properties p = Base.settings(); System.getenv().forEach(new C(p)); Base.start(p); } }
}

class ByDeep {
    static class M { static String k7(String s) { return k6(s); } static String k6(String s) { return k5(s); } static String k5(String s) { return k4(s); } static String k4(String s) { return k3(s); } static String k3(String s) { return s; } public static void main(String[] x) throws Exception { Properties p = Base.settings(); p.put(k7(Base.key()), "x"); Base.start(p); } }
}

class ByStaticinit {
    static class M { static final Properties P = new Properties(); static { P.putAll(Base.settings()); } static Properties get() { return P; } public static void main(String[] x) throws Exception { get().put(Base.key(), "x"); Base.start(P); } }
}

class ByCtorfield {
    static final BiFunction<Topology, Properties, KafkaStreams> MAKE = KafkaStreams::new;
    static class M { public static void main(String[] x) { Properties p = Base.settings(); p.put(Base.key(), "x"); MAKE.apply(new Topology(), p); } }
}

class ByVarargs {
    static class M { public static void main(String[] x) { Properties p = Base.settings(); Library.Boot.all("a", p); Base.start(p); } }
}

class ByMadeoflibrary {
    static class M { public static void main(String[] x) { Properties p = new Library.Filled(); p.putAll(Base.settings()); Base.start(p); } }
}

class BySubclassoflibrary {
    static class Mine extends Library.Filled {}
    static class M { public static void main(String[] x) { Properties p = new Mine(); p.putAll(Base.settings()); Base.start(p); } }
}

class ByDefaultmethod {
    static class Tuner implements Library.Tunable {}
    static class M { public static void main(String[] x) { Properties p = Base.settings(); new Tuner().tune(p); Base.start(p); } }
}

class ByLibraryinlist {
    static class M { public static void main(String[] x) { Properties p = Base.settings(); for (Map<Object, Object> m : List.<Map<Object, Object>>of(new Library.Filled())) p.putAll(m); Base.start(p); } }
}

class ByReturnedmap {
    static Map<String, Object> extra(Library.Boot b) { return new HashMap<>(); }
    static class M { static Map<String, Object> all = new HashMap<>(); static Map<String, Object> all() { return all; } public static void main(String[] x) { Library.Boot.all(all()); Properties p = Base.settings(); p.putAll(all); Base.start(p); } }
}

class ByShutdownhook {
    static class M { Properties p = Base.settings(); M self() { return this; } void go() { self().p.put(Base.key(), "x"); Base.start(p); } public static void main(String[] x) { new M().go(); } }
}

class ByCopy {
    static class M { public static void main(String[] x) { Map<Object, Object> m = new TreeMap<>(System.getenv()); Properties p = Base.settings(); p.putAll(new LinkedHashMap<>(Collections.unmodifiableMap(m))); Base.start(p); } }
}

class ByInterfacefield {
    interface Source { Properties get(); }
    static Source source = Base::settings;
    static void use(Source s) { source = s; }
    static class M { public static void main(String[] x) { use(() -> { Properties p = Base.settings(); p.put(Base.key(), "x"); return p; }); Base.start(source.get()); } }
}

class BySwitchkey {
    static class M { public static void main(String[] x) { Properties p = Base.settings(); String k = "a"; while (k.length() < x.length) k += x[k.length()]; p.put(k, "x"); Base.start(p); } }
}

class ByCharat {
    static class M { public static void main(String[] x) { Properties p = Base.settings(); StringBuilder b = new StringBuilder(); for (char c : "processing_guarantee".toCharArray()) b.append(c == '_' ? '.' : c); p.put(b.toString(), "exactly_once"); Base.start(p); } }
}

class ByHolder {
    static class Holder { private final Properties p; Holder(Properties p) { this.p = p; } public Properties getP() { return p; } }
    static class M { public static void main(String[] x) { Holder h = new Holder(Base.settings()); new Library.Mapper().fill(h); Base.start(h.p); } }
}

class ByHolderfield {
    static class Holder { public Properties p = Base.settings(); }
    static class M { public static void main(String[] x) { Holder h = new Holder(); Library.Boot.all(List.of(h)); Base.start(h.p); } }
}

class ByHolderofholder {
    static class Inner { Properties p; }
    record Outer(Inner inner) {}
    static class M { public static void main(String[] x) { Inner i = new Inner(); i.p = Base.settings(); Library.Boot.all(new Outer(i)); Base.start(i.p); } }
}

class ByHolderitself {
    static class M { final Properties p = Base.settings(); public Properties p() { return p; } void run() { new Library.Mapper().fill(this); Base.start(p); } public static void main(String[] x) { new M().run(); } }
}

class ByOwnservice {
    public interface Tuner { void tune(Properties p); }
    public static class Own implements Tuner { public void tune(Properties p) { p.put("acks", "all"); } }
    static class M { public static void main(String[] x) { Properties p = Base.settings(); for (Tuner t : ServiceLoader.load(Tuner.class)) t.tune(p); Base.start(p); } }
}

class ByServicestream {
    public static abstract class Tuner { abstract void tune(Properties p); }
    public static class Own extends Tuner { void tune(Properties p) { p.put("acks", "all"); } }
    static class M { public static void main(String[] x) { Properties p = Base.settings(); ServiceLoader.load(Tuner.class).stream().map(ServiceLoader.Provider::get).forEach(t -> t.tune(p)); Base.start(p); } }
}

class ByServicefirst {
    public interface Source { Properties get(Properties p); }
    public static class Own implements Source { public Properties get(Properties p) { return p; } }
    static class M { public static void main(String[] x) { Base.start(ServiceLoader.load(Source.class).findFirst().orElseThrow().get(Base.settings())); } }
}

class ByServicesettings {
    public interface Source { Properties get(); }
    public static class Own implements Source { public Properties get() { return Base.settings(); } }
    static class M { public static void main(String[] x) { Base.start(ServiceLoader.load(Source.class).iterator().next().get()); } }
}

class ByPluginname {
    public interface Tuner { void tune(Properties p); }
    public static class Own implements Tuner { public void tune(Properties p) { p.put("acks", "all"); } }
    static class M { public static void main(String[] x) throws Exception { Properties p = Base.settings(); Tuner t = (Tuner) Class.forName(x[0]).getDeclaredConstructor().newInstance(); t.tune(p); Base.start(p); } }
}

class ByContextbean {
    public interface Tuner { void tune(Properties p); }
    public static class Own implements Tuner { public void tune(Properties p) { p.put("acks", "all"); } }
    static class M { public static void main(String[] x) { Properties p = Base.settings(); Library.Context.getBean(Tuner.class).tune(p); Base.start(p); } }
}

class ByScopedbean {
    static class Cfg { @Library.RequestScoped Map<String, Object> more() { Map<String, Object> m = new HashMap<>(); m.put(Base.key(), "x"); return m; } }
    static class M { public static void main(String[] x) { Base.start(Base.settings()); } }
}
