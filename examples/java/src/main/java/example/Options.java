package example;

import java.util.HashMap;
import java.util.Map;

/** Command-line options of the form {@code --name value}. */
final class Options {
  private final Map<String, String> given = new HashMap<>();

  Options(String[] args) {
    for (int at = 0; at < args.length; at += 2) {
      if (!args[at].startsWith("--") || at + 1 == args.length) throw new IllegalArgumentException("expected --name value, got " + args[at]);
      given.put(args[at].substring(2), args[at + 1]);
    }
  }

  String get(String name, String fallback) {
    String value = given.getOrDefault(name, fallback);
    if (value == null) throw new IllegalArgumentException("--" + name + " is missing");
    return value;
  }
}
