package peer;

import java.sql.Connection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.core.PreparedStatementCreator;
import org.springframework.stereotype.Repository;
import org.springframework.transaction.support.TransactionTemplate;

/** What was claimed, what came of it, and its announcements: one statement for a whole batch each. */
@Repository
class Inbox {
  private static final String CLAIM =
      """
      INSERT INTO spring_peer.inbox (event_id, lead_ref) SELECT * FROM unnest(?::uuid[], ?::text[])
      ON CONFLICT DO NOTHING RETURNING event_id""";
  private static final String LEFT = "SELECT event_id FROM spring_peer.inbox WHERE event_id = ANY (?::uuid[]) AND done_at IS NULL";
  private static final String DONE =
      """
      UPDATE spring_peer.inbox AS i SET crm_ref = d.crm_ref, done_at = now()
      FROM unnest(?::uuid[], ?::text[]) AS d (event_id, crm_ref) WHERE i.event_id = d.event_id""";
  private static final String ANNOUNCE = "INSERT INTO spring_peer.outbox (topic, key, value) SELECT 'lead.resolved', * FROM unnest(?::bytea[], ?::bytea[])";

  private final JdbcTemplate jdbc;
  private final TransactionTemplate transactions;
  private final Events events;
  private final String destination;

  Inbox(JdbcTemplate jdbc, TransactionTemplate transactions, Events events, @Value("${peer.destination}") String destination) {
    this.jdbc = jdbc;
    this.transactions = transactions;
    this.events = events;
    this.destination = destination;
  }

  /** Those of the batch that are not done: new ones, and ones whose batch was cut short before. */
  List<Lead> claim(List<Lead> batch) {
    UUID[] ids = ids(batch);
    Set<UUID> claimed = selected(CLAIM, ids, batch.stream().map(Lead::leadRef).toArray(String[]::new));
    if (claimed.size() == batch.size()) return batch;
    claimed.addAll(selected(LEFT, ids));
    return batch.stream().filter(lead -> claimed.remove(lead.eventId())).toList();
  }

  /** Records the outcomes and their announcements in one transaction. */
  void done(List<Resolved> all) {
    UUID[] ids = ids(all.stream().map(Resolved::lead).toList());
    String[] refs = all.stream().map(Resolved::crmRef).toArray(String[]::new);
    byte[][] keys = all.stream().map(one -> one.lead().key()).toArray(byte[][]::new);
    byte[][] values = all.stream().map(one -> events.resolved(one, destination)).toArray(byte[][]::new);
    transactions.executeWithoutResult(status -> {
      jdbc.update(prepared(DONE, typed("uuid", ids), typed("text", refs)));
      jdbc.update(prepared(ANNOUNCE, typed("bytea", keys), typed("bytea", values)));
    });
  }

  private Set<UUID> selected(String sql, UUID[] ids, String... refs) {
    PreparedStatementCreator statement =
        refs.length == 0 ? prepared(sql, typed("uuid", ids)) : prepared(sql, typed("uuid", ids), typed("text", refs));
    return new HashSet<>(jdbc.query(statement, (row, number) -> row.getObject(1, UUID.class)));
  }

  private record Typed(String type, Object[] values) {}

  private static Typed typed(String type, Object[] values) {
    return new Typed(type, values);
  }

  private static PreparedStatementCreator prepared(String sql, Typed... arrays) {
    return (Connection connection) -> {
      var statement = connection.prepareStatement(sql);
      for (int at = 0; at < arrays.length; at++) statement.setArray(at + 1, connection.createArrayOf(arrays[at].type(), arrays[at].values()));
      return statement;
    };
  }

  private static UUID[] ids(List<Lead> batch) {
    return batch.stream().map(Lead::eventId).toArray(UUID[]::new);
  }
}
