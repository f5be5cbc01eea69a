package example;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.apache.avro.Schema;

/** Reads schemas and ids from a Confluent-compatible registry. Never registers one: a contract is registered by its owner's deployment. */
final class Registry {
  private static final Duration TIMEOUT = Duration.ofSeconds(10);
  private static final String CONTENT_TYPE = "application/vnd.schemaregistry.v1+json";
  private static final ObjectMapper JSON = new ObjectMapper();

  /** The registry answered, and it has no such schema. */
  static final class UnknownSchema extends RuntimeException {
    UnknownSchema(String path) {
      super(path + " is not known to the registry");
    }
  }

  private final HttpClient http = HttpClient.newBuilder().connectTimeout(TIMEOUT).build();
  private final String url;
  private final Map<Integer, Schema> byId = new HashMap<>();

  Registry(String url) {
    this.url = url.replaceAll("/+$", "");
  }

  /** Id of exactly this schema under the subject. Throws UnknownSchema when its owner has not registered it yet. */
  int idOf(String subject, String schemaText) throws IOException, InterruptedException {
    String body = JSON.writeValueAsString(Map.of("schema", schemaText));
    return call("/subjects/" + subject + "?normalize=true", body).get("id").asInt();
  }

  /** Writer schema of an id, asked for once. Throws UnknownSchema, or IOException while the registry is away. */
  Schema schema(int id) throws IOException, InterruptedException {
    Schema known = byId.get(id);
    if (known != null) return known;
    Schema schema = new Schema.Parser().parse(call("/schemas/ids/" + id, null).get("schema").asText());
    byId.put(id, schema);
    return schema;
  }

  private JsonNode call(String path, String body) throws IOException, InterruptedException {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(url + path)).timeout(TIMEOUT).header("content-type", CONTENT_TYPE).header("accept", CONTENT_TYPE);
    if (body != null) request.POST(HttpRequest.BodyPublishers.ofString(body));
    HttpResponse<String> answer = http.send(request.build(), HttpResponse.BodyHandlers.ofString());
    if (answer.statusCode() == 404) throw new UnknownSchema(path);
    if (answer.statusCode() != 200) throw new IOException(path + " answered " + answer.statusCode());
    return JSON.readTree(answer.body());
  }
}
