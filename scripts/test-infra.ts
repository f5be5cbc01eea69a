// Starts or stops the Kafka, registry and PostgreSQL that integration tests share.
//   test-infra.js up                 starts them; they stay until `down`
//   test-infra.js up --owner PID     started for one test run, which calls `down --owner PID` at its end
//   test-infra.js down [--owner PID] stops them; with --owner only if that run started them
import { identify, runningTestInfra, startTestInfra, stopTestInfra } from '#testkit';

const [command, option, pid] = process.argv.slice(2);
const owner = option === '--owner' && pid !== undefined ? identify(Number(pid)) : undefined;
const progress = (line: string): void => console.log(line);

if (command === 'up') {
  const { kafkaBrokers, schemaRegistry } = await startTestInfra({ owner, progress });
  progress(`test infrastructure: Kafka ${kafkaBrokers}, registry ${schemaRegistry}`);
} else if (command === 'down') {
  const running = runningTestInfra();
  const mine = owner === undefined || running?.owner?.startMark === owner.startMark;
  if (mine) await stopTestInfra();
} else {
  console.error('usage: test-infra.js up|down [--owner PID]');
  process.exitCode = 2;
}
