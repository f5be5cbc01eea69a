// The order in which Jest begins the spec files of a run: the longest first, so that at its end no worker waits for one that began last. Jest
// itself knows only how long a file took the last time on the same machine, which in a fresh clone is nothing, and else how large it is.
import { statSync } from 'node:fs';

/** Seconds of the files that take long, each with a server or a stack of its own, on two cores. Files that are not named follow, largest first. */
export const seconds = {
  'test/fault/crash-points.fault.spec.ts': 230,
  'test/fault/random.fault.spec.ts': 158,
  'test/fault/tiers.fault.spec.ts': 156,
  'test/fault/kills.fault.spec.ts': 140,
  'test/fault/replay-batches.fault.spec.ts': 135,
  'test/tour/failure-tour.flow.spec.ts': 129,
  'test/fault/cases.fault.spec.ts': 125,
  'test/real-crm/engine.crm.spec.ts': 113,
  'test/browser/journeys.flow.spec.ts': 110,
  'test/contract/operator-schemathesis.flow.spec.ts': 110,
  'test/flow/start-stop.flow.spec.ts': 105,
  'test/flow/demo.flow.spec.ts': 100,
  'test/fault/backlog.fault.spec.ts': 100,
  'test/fault/several-writers.fault.spec.ts': 81,
  'test/fault/figures.fault.spec.ts': 80,
  'test/flow/people.flow.spec.ts': 95,
  'test/flow/destinations.flow.spec.ts': 80,
  'test/contract/foreign-clients.flow.spec.ts': 77,
  'test/flow/reconcile.flow.spec.ts': 75,
  'test/fault/outage.fault.spec.ts': 68,
  'test/browser/console-screens.flow.spec.ts': 60,
  'libs/messaging/src/kafka/network-faults.int.spec.ts': 50,
  'apps/operator/src/batches/batches.int.spec.ts': 49,
  'libs/messaging/src/kafka/cluster.int.spec.ts': 47,
  'test/real-crm/reconcile.crm.spec.ts': 44,
  'libs/delivery/src/destination/destination.int.spec.ts': 43,
  'test/contract/site-file.flow.spec.ts': 42,
  'libs/messaging/src/consumer/group-consumer.int.spec.ts': 35,
  'apps/notifier/src/notifier.int.spec.ts': 30,
  'libs/messaging/src/relay/relay.int.spec.ts': 25,
  'libs/messaging/src/tiers/lateness.int.spec.ts': 24,
  'libs/messaging/src/kafka/sasl-sessions.int.spec.ts': 20,
};

/** Asked by Jest for all that it is about to run. */
export default class LongestFirst {
  sort(tests) {
    const lasting = ({ path }) => Object.entries(seconds).find(([file]) => path.endsWith(`/${file}`))?.[1] ?? 0;
    const size = ({ path }) => statSync(path).size;
    return [...tests].sort((left, right) => lasting(right) - lasting(left) || size(right) - size(left));
  }

  /** `--onlyFailures` would need results of an earlier run. */
  allFailedTests(tests) {
    return tests;
  }

  cacheResults() {
    // Nothing is kept for the next run.
  }
}
