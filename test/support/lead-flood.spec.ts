import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { LeadFlood } from './lead-flood.js';
import type { Answer, IntakeClient, UpstreamProducer } from './traffic.js';

beforeEach(() => {
  jest.useFakeTimers();
  jest.spyOn(console, 'log').mockImplementation(() => undefined);
});
afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
});

const accepted: Answer = { status: 202, headers: new Headers(), body: { event_id: 'e-1' } };
const problem = { 'content-type': 'application/problem+json' };
const answer = (status: number, headers: Record<string, string> = {}): Answer => ({
  status,
  headers: new Headers(headers),
  body: { type: 'urn:a:problem' },
});
const lost = (code: string) => Object.assign(new TypeError('fetch failed'), { cause: { code } });

/** One lead at the HTTP door that is answered with `first`, and with 202 when it is sent again. */
async function flooded(first: Answer | Error, intakeDies = false): Promise<LeadFlood> {
  const answers = ['status' in first ? Promise.resolve(first) : Promise.reject(first), Promise.resolve(accepted)];
  const post = () => answers.shift();
  const flood = new LeadFlood({ post } as unknown as IntakeClient, { send: async () => undefined } as unknown as UpstreamProducer, {
    ...{ prefix: 'flood', burst: 1, everyMs: 0, intakeDies },
  });
  const done = flood.burst(1).then(() => flood.stop());
  await jest.advanceTimersByTimeAsync(1_000);
  await done;
  return flood;
}

describe('a flood of leads', () => {
  it('sends again what it is asked to send again, and calls that no refusal', async () => {
    for (const status of [503, 429]) {
      const flood = await flooded(answer(status, { ...problem, 'retry-after': '2' }));
      expect(flood).toMatchObject({ refused: [], turnedAway: 1 });
      expect([...flood.accepted.values()]).toEqual(['e-1']);
    }
  });

  it.each<[string, Answer | Error]>([
    ['an unexpected fault', answer(500, { ...problem, 'retry-after': '10' })],
    ['a fault of a gateway', answer(502)],
    ['a 503 without a time to wait', answer(503, problem)],
    ['a 503 that is no problem document', answer(503, { 'retry-after': '2' })],
    ['no answer in 15 seconds', new DOMException('aborted', 'TimeoutError')],
    ['an answer that nobody can read', new SyntaxError('Unexpected token')],
    ['a connection that is refused by a process that should be there', lost('ECONNREFUSED')],
  ])('counts %s as a refusal, though the lead gets in later', async (_, first) => {
    const flood = await flooded(first);
    expect(flood.refused).toHaveLength(1);
    expect(flood.accepted.size).toBe(1);
  });

  it('does not send again what is refused for good', async () => {
    const flood = await flooded(answer(422, problem));
    expect(flood.refused).toEqual([{ status: 422, why: 'urn:a:problem, without Retry-After' }]);
    expect(flood.accepted.size).toBe(0);
  });

  it('forgives a process that is ended its connections, and nothing else', async () => {
    for (const code of ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])
      expect(await flooded(lost(code), true)).toMatchObject({ refused: [] });
    expect((await flooded(new DOMException('aborted', 'TimeoutError'), true)).refused).toEqual([{ status: 0, why: 'TimeoutError' }]);
  });

  it('says how fast it handed leads in', async () => {
    await flooded(accepted);
    expect(console.log).toHaveBeenCalledWith(expect.stringMatching(/^flood flood: 1 leads in 1 bursts, handed in at 10 to 10 leads\/s/));
  });
});
