import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Just enough JSON for lines of questions and answers; writes ASCII only. */
final class Json {
    private final String text;
    private int next;

    private Json(String text) {
        this.text = text;
    }

    /** Objects become maps, arrays lists, whole numbers Long, other numbers Double. */
    static Object read(String text) {
        Json json = new Json(text);
        Object value = json.value();
        if (json.peek() != 0) {
            throw json.unexpected();
        }
        return value;
    }

    static String write(Object value) {
        StringBuilder out = new StringBuilder();
        write(value, out);
        return out.toString();
    }

    private static void write(Object value, StringBuilder out) {
        String separator = "";
        if (value instanceof Map) {
            out.append('{');
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
                out.append(separator);
                write(String.valueOf(entry.getKey()), out);
                write(entry.getValue(), out.append(':'));
                separator = ",";
            }
            out.append('}');
        } else if (value instanceof Collection) {
            out.append('[');
            for (Object item : (Collection<?>) value) {
                write(item, out.append(separator));
                separator = ",";
            }
            out.append(']');
        } else if (value instanceof CharSequence) {
            out.append('"');
            ((CharSequence) value).chars().forEach(c -> {
                if (c < ' ' || c > '~' || c == '"' || c == '\\') {
                    out.append(String.format("\\u%04x", c)); // a lone surrogate survives, too
                } else {
                    out.append((char) c);
                }
            });
            out.append('"');
        } else {
            out.append(value);
        }
    }

    private Object value() {
        char first = peek();
        switch (first) {
            case '{': return object();
            case '[': return array();
            case '"': return string();
            default: return plain();
        }
    }

    private Map<String, Object> object() {
        Map<String, Object> found = new LinkedHashMap<>();
        for (next++; peek() != '}'; ) {
            String name = string();
            take(':');
            found.put(name, value());
            if (peek() != '}') {
                take(',');
            }
        }
        next++;
        return found;
    }

    private List<Object> array() {
        List<Object> found = new ArrayList<>();
        for (next++; peek() != ']'; ) {
            found.add(value());
            if (peek() != ']') {
                take(',');
            }
        }
        next++;
        return found;
    }

    private String string() {
        take('"');
        StringBuilder found = new StringBuilder();
        for (char c = text.charAt(next++); c != '"'; c = text.charAt(next++)) {
            found.append(c == '\\' ? escaped() : c);
        }
        return found.toString();
    }

    private char escaped() {
        char c = text.charAt(next++);
        if (c == 'u') {
            next += 4;
            return (char) Integer.parseInt(text.substring(next - 4, next), 16);
        }
        int control = "bfnrt".indexOf(c);
        return control < 0 ? c : "\b\f\n\r\t".charAt(control);
    }

    private Object plain() {
        int begin = next;
        while (next < text.length() && ",]} \t".indexOf(text.charAt(next)) < 0) {
            next++;
        }
        String word = text.substring(begin, next);
        switch (word) {
            case "null": return null;
            case "true": return true;
            case "false": return false;
            default:
        }
        if (word.matches("-?\\d+")) {
            return Long.valueOf(word);
        }
        return Double.valueOf(word);
    }

    private void take(char wanted) {
        if (peek() != wanted) {
            throw unexpected();
        }
        next++;
    }

    /** The next character that is not white space; 0 at the end. */
    private char peek() {
        while (next < text.length() && text.charAt(next) <= ' ') {
            next++;
        }
        return next < text.length() ? text.charAt(next) : 0;
    }

    private IllegalArgumentException unexpected() {
        return new IllegalArgumentException("not JSON at character " + next);
    }
}
