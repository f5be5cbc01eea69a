package peer;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.support.Acknowledgment;
import org.springframework.stereotype.Component;

/**
 * A batch at a time for each partition. A call that fails fails its batch once all of its calls have ended: what succeeded is recorded, and the
 * container's error handler delivers the batch again.
 */
@Component
class AcceptedLeads {
  private final Events events;
  private final Inbox inbox;
  private final Crm crm;

  AcceptedLeads(Events events, Inbox inbox, Crm crm) {
    this.events = events;
    this.inbox = inbox;
    this.crm = crm;
  }

  @KafkaListener(id = "accepted-leads", idIsGroup = false, topics = "${peer.topic}")
  void batch(List<ConsumerRecord<byte[], byte[]>> records, Acknowledgment acknowledgment) {
    List<CompletableFuture<Resolved>> calls = new ArrayList<>(records.size());
    List<Lead> claimed = records.isEmpty() ? List.of() : inbox.claim(records.stream().map(events::accepted).toList());
    for (Lead lead : claimed) calls.add(crm.write(lead));
    CompletableFuture<Void> ended = CompletableFuture.allOf(calls.toArray(CompletableFuture[]::new));
    ended.handle((nothing, failure) -> nothing).join();
    List<Resolved> resolved = calls.stream().filter(call -> !call.isCompletedExceptionally()).map(CompletableFuture::join).toList();
    if (!resolved.isEmpty()) inbox.done(resolved);
    ended.join();
    acknowledgment.acknowledge();
  }
}
