package peer;

import java.util.Scanner;
import org.springframework.boot.ApplicationArguments;
import org.springframework.boot.ApplicationRunner;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.stereotype.Component;

/**
 * How the benchmark drives this process. A line of standard input is {@code pause} or {@code resume}; the end of the input ends the process. It
 * prints {@code paused} whenever all consumers are, the first time once they have all partitions, and what runs the calls.
 */
@Component
class Remote implements ApplicationRunner {
  private static final int PARTITIONS = 6;
  private static final long LOOK_EVERY_MS = 20;

  private final KafkaListenerEndpointRegistry registry;
  private final ConfigurableApplicationContext context;

  Remote(KafkaListenerEndpointRegistry registry, ConfigurableApplicationContext context) {
    this.registry = registry;
    this.context = context;
  }

  @Override
  public void run(ApplicationArguments arguments) throws InterruptedException {
    MessageListenerContainer container = registry.getListenerContainer("accepted-leads");
    container.pause();
    container.start();
    say(container);
    Scanner lines = new Scanner(System.in);
    while (lines.hasNextLine()) {
      if (lines.nextLine().equals("resume")) {
        container.resume();
      } else {
        container.pause();
        say(container);
      }
    }
    context.close();
  }

  private static void say(MessageListenerContainer container) throws InterruptedException {
    while (!container.isContainerPaused() || container.getAssignedPartitions().size() < PARTITIONS) Thread.sleep(LOOK_EVERY_MS);
    System.out.println("paused JDK " + Runtime.version().feature() + (SpringPeer.VIRTUAL ? ", virtual threads" : ", a pool of threads"));
  }
}
