package peer;

import java.net.http.HttpClient;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.apache.kafka.common.header.Header;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.core.task.AsyncTaskExecutor;
import org.springframework.core.task.SimpleAsyncTaskExecutor;
import org.springframework.kafka.config.ContainerCustomizer;
import org.springframework.kafka.listener.ConcurrentMessageListenerContainer;
import org.springframework.kafka.listener.adapter.RecordFilterStrategy;
import org.springframework.scheduling.concurrent.ThreadPoolTaskExecutor;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

/**
 * Brings accepted leads to a CRM as a tuned batch service on Spring Kafka does: claims a batch, calls, records what came of it together with its
 * announcements, acknowledges the batch.
 */
@SpringBootApplication
public class SpringPeer {
  /** Virtual threads are final from this one on. */
  static final boolean VIRTUAL = Runtime.version().feature() >= 21;

  public static void main(String[] args) {
    SpringApplication.run(SpringPeer.class, args);
  }

  /** Runs the calls to the CRM; what bounds them is the number of permits of the caller. */
  @Bean
  AsyncTaskExecutor calls(@Value("${peer.in-flight}") int inFlight) {
    if (VIRTUAL) {
      SimpleAsyncTaskExecutor executor = new SimpleAsyncTaskExecutor("call-");
      executor.setVirtualThreads(true);
      return executor;
    }
    ThreadPoolTaskExecutor executor = new ThreadPoolTaskExecutor();
    executor.setCorePoolSize(inFlight);
    executor.setThreadNamePrefix("call-");
    return executor;
  }

  @Bean
  HttpClient http(AsyncTaskExecutor calls) {
    HttpClient.Builder builder = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(Duration.ofSeconds(5));
    // A pool that is full of calls could not run the work of the client that they wait for.
    return VIRTUAL ? builder.executor(calls).build() : builder.build();
  }

  @Bean
  Events events(@Value("${peer.schemas}") Path schemas) throws Exception {
    return new Events(schemas);
  }

  /** The topic has the leads of every destination, named in a header with commas between them. */
  @Bean
  RecordFilterStrategy<Object, Object> filter(@Value("${peer.destination}") String destination) {
    return record -> {
      Header names = record.headers().lastHeader("ld-destinations");
      return names == null || !List.of(new String(names.value(), StandardCharsets.UTF_8).split(",")).contains(destination);
    };
  }

  /** No batch waits for its commit; the inbox stands against repeats. */
  @Bean
  ContainerCustomizer<Object, Object, ConcurrentMessageListenerContainer<Object, Object>> commits() {
    return container -> container.getContainerProperties().setSyncCommits(false);
  }

  @Bean
  TransactionTemplate transactions(PlatformTransactionManager manager) {
    return new TransactionTemplate(manager);
  }
}
