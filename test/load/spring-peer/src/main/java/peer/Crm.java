package peer;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.core.task.AsyncTaskExecutor;
import org.springframework.stereotype.Component;
import tools.jackson.databind.json.JsonMapper;

/** Writes leads to the CRM, one call each, over connections that are kept. */
@Component
class Crm {
  /** The event has no personal data and this service does not read the vault: every lead is this fictional person. */
  private static final Map<String, String> CONTACT = Map.of("name", "Ada Example", "email", "ada@example.test", "phone", "+12025550123");

  private static final Map<String, String> CUSTOM = Map.of("seats", "12", "page", "/offers/autumn");

  private final HttpClient http;
  private final AsyncTaskExecutor calls;
  private final Semaphore permits;
  private final URI url;
  private final String destination;
  private final JsonMapper json = new JsonMapper();

  Crm(
      HttpClient http,
      AsyncTaskExecutor calls,
      @Value("${peer.in-flight}") int inFlight,
      @Value("${peer.crm-url}") URI url,
      @Value("${peer.destination}") String destination) {
    this.http = http;
    this.calls = calls;
    this.permits = new Semaphore(inFlight);
    this.url = url;
    this.destination = destination;
  }

  /** Begins the call once one of all calls in flight may be made; fails when the CRM does not take the lead. */
  CompletableFuture<Resolved> write(Lead lead) {
    permits.acquireUninterruptibly();
    return calls.submitCompletable(() -> {
      try {
        return new Resolved(lead, call(lead));
      } finally {
        permits.release();
      }
    });
  }

  private String call(Lead lead) throws IOException, InterruptedException {
    HttpRequest request =
        HttpRequest.newBuilder(url)
            .timeout(Duration.ofSeconds(10))
            .header("content-type", "application/json")
            .header("idempotency-key", lead.eventId() + ":" + destination + ":lead")
            .POST(HttpRequest.BodyPublishers.ofByteArray(json.writeValueAsBytes(body(lead))))
            .build();
    HttpResponse<byte[]> answer = http.send(request, HttpResponse.BodyHandlers.ofByteArray());
    if (answer.statusCode() != 201) throw new IOException("the CRM answered " + answer.statusCode());
    return json.readTree(answer.body()).get("id").asString();
  }

  private record Body(
      String external_id,
      String lead_ref,
      String organization,
      String source,
      Object form,
      Object campaign,
      Map<String, String> contact,
      String message,
      Map<String, String> custom,
      String submitted_at) {}

  private static Body body(Lead lead) {
    var event = lead.event();
    return new Body(
        lead.eventId().toString(),
        lead.leadRef(),
        (String) event.get("organization"),
        (String) event.get("source"),
        event.get("form"),
        event.get("campaign"),
        CONTACT,
        "Please call me back about the offer on your page, any day after four.",
        CUSTOM,
        Instant.ofEpochMilli((Long) event.get("submitted_at")).toString());
  }
}
