import { produceAlone } from './producing.js';

/**
 * The baseline in a process of its own: kafkajs as it is installed, without what the product mends in it. Gets `{ brokers, topic, rows }` as many
 * times as it is asked, and answers each with `{ rate, cpuSeconds }`.
 */
process.on('message', (producing: Parameters<typeof produceAlone>[0]) => {
  const before = process.cpuUsage();
  void produceAlone(producing).then((rate) => {
    const { user, system } = process.cpuUsage(before);
    process.send?.({ rate, cpuSeconds: (user + system) / 1e6 });
  });
});
