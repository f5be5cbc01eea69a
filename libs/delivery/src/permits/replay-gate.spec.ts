import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { CompactSign, type JWK } from 'jose';
import { headers } from '#contracts';
import type { ConsumedRecord } from '#messaging';
import { ConfigError, createLogger, InternalUnavailable } from '#runtime';
import type { BatchStatesAnswer } from './batch-states.js';
import type { Permit } from './permit.js';
import { loadPermitPublicKeys } from './permit-keys.js';
import { permitReader, signPermit } from './permit-token.js';
import { openReplayGate } from './replay-gate.js';

const logger = createLogger('spec', 'silent');
const pair = (kid: string): { secret: JWK; open: JWK } => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return {
    secret: { ...(privateKey.export({ format: 'jwk' }) as JWK), kid },
    open: { ...(publicKey.export({ format: 'jwk' }) as JWK), kid },
  };
};
const ours = pair('p1');
const folderWith = (...keys: JWK[]): string => {
  const dir = mkdtempSync(join(tmpdir(), 'permits-'));
  writeFileSync(join(dir, 'permit-public.json'), JSON.stringify({ keys }));
  return dir;
};

const eventId = '01890000-0000-7000-8000-000000000001';
const batchId = '01890000-0000-4000-8000-00000000000b';
const permit: Permit = {
  batchId,
  itemId: '01890000-0000-4000-8000-00000000000c',
  eventId,
  destination: 'crm',
  operationKeys: [`${eventId}:crm:contact`, `${eventId}:crm:lead`],
  notAfter: new Date('2026-05-01T10:00:00Z'),
  deadlineAt: new Date('2026-05-01T14:00:00.123Z'),
};
const recordWith = (more: Record<string, string>): ConsumedRecord => ({
  topic: 'lead.accepted.crm-writer.crm.replay',
  partition: 0,
  offset: 1n,
  key: null,
  value: null,
  headers: Object.fromEntries(Object.entries(more).map(([name, text]) => [name, Buffer.from(text)])),
  timestampMs: 0,
});

/** A gate whose operator says what the test sets, and whose time is the test's. */
function rig() {
  const said = { asOf: '2026-05-01T09:00:00Z', batches: [{ batch_id: batchId, state: 'running' }] as BatchStatesAnswer['items'] };
  const state = { down: false, asked: 0, elapsedMs: 0, beforeAnswer: async () => {} };
  const operator = {
    post: async <T>(): Promise<T> => {
      state.asked += 1;
      const answer = { as_of: said.asOf, items: [...said.batches] };
      await state.beforeAnswer();
      if (state.down) throw new InternalUnavailable('down');
      return answer as T;
    },
  };
  const gate = openReplayGate({ secretsDir: folderWith(ours.open), operator, logger, elapsedMs: () => state.elapsedMs });
  const admit = async (token: string, more: Record<string, string> = { [headers.eventId]: eventId }) =>
    gate.admit(recordWith({ ...more, [headers.replayPermit]: token }));
  return { gate, admit, said, state };
}

describe('a permit', () => {
  it('comes out as it went in', async () => {
    const withMapping = { ...permit, mappingVersion: 3 };
    const repair = {
      generation: 2,
      renew: [{ operationKey: 'k1', ref: 'C-1', compared: { version: '7', changed_at: 'a' } }, { operationKey: 'k2' }],
      adopt: [{ operationKey: 'k3', ref: 'N-1' }],
    };
    const all = [withMapping, { ...permit, repair }, { ...permit, repair: { ...repair, forget: [{ operationKey: 'k4', ref: 'L-1' }] } }];
    for (const one of all) expect(await permitReader({ keys: [ours.open] })(await signPermit(one, ours.secret))).toEqual(one);
  });

  it('is read by the old and the new key while keys change, and by no other', async () => {
    const next = pair('p2');
    const token = await signPermit(permit, next.secret);
    expect(await permitReader({ keys: [ours.open, next.open] })(token)).toMatchObject({ itemId: permit.itemId });
    expect(await permitReader({ keys: [ours.open] })(token)).toBeUndefined();
    expect(await permitReader({ keys: [{ ...ours.open, kid: 'p2' }] })(token)).toBeUndefined();
  });

  it.each([
    ['is no token', () => 'nonsense'],
    ['was changed', async () => (await signPermit(permit, ours.secret)).replace(/\.(.)/, (_, first) => `.${first === 'e' ? 'f' : 'e'}`)],
    ['is signed by nobody', () => `${Buffer.from('{"alg":"none"}').toString('base64url')}.e30.`],
    ['is of another type', () => sign('{"v":1}', { alg: 'EdDSA', typ: 'JWT', kid: 'p1' })],
    ['has another form', () => sign('{"v":2}', { alg: 'EdDSA', typ: 'replay-permit', kid: 'p1' })],
    ['is not JSON', () => sign('x', { alg: 'EdDSA', typ: 'replay-permit', kid: 'p1' })],
  ])('that %s is none', async (_, token) => {
    expect(await permitReader({ keys: [ours.open] })(await token())).toBeUndefined();
  });

  const sign = (text: string, header: { alg: string; typ: string; kid: string }) =>
    new CompactSign(Buffer.from(text)).setProtectedHeader(header).sign(ours.secret);
});

describe('the keys of permits', () => {
  it('are refused by name where they are missing or something else', () => {
    const dir = mkdtempSync(join(tmpdir(), 'permits-'));
    expect(() => loadPermitPublicKeys(dir)).toThrow(ConfigError);
    writeFileSync(join(dir, 'permit-public.json'), '{"keys":[{"kty":"RSA"}]}');
    expect(() => loadPermitPublicKeys(dir)).toThrow(/permit-public\.json/);
  });
});

describe('the replay gate', () => {
  it('lets an item of a running batch through', async () => {
    const { admit } = rig();
    expect(await admit(await signPermit(permit, ours.secret))).toEqual({ kind: 'item', permit });
  });

  it('refuses a record without a permit, and a permit on the record of another lead', async () => {
    const { gate, admit } = rig();
    expect(await gate.admit(recordWith({}))).toEqual({ kind: 'refused', code: 'no_permit' });
    const other = { [headers.eventId]: '01890000-0000-7000-8000-000000000002' };
    expect(await admit(await signPermit(permit, ours.secret), other)).toEqual({ kind: 'refused', code: 'bad_permit' });
  });

  it('refuses a permit whose time is over by the clock of the operator', async () => {
    const { admit, said, state } = rig();
    const token = await signPermit(permit, ours.secret);
    said.asOf = '2026-05-01T09:59:59.500Z';
    expect(await admit(token)).toMatchObject({ kind: 'item' });
    state.elapsedMs = 600;
    expect(await admit(token)).toEqual({ kind: 'refused', code: 'permit_expired' });
  });

  it('refuses the items of a batch that ended, and lets those of a paused one wait', async () => {
    const { admit, said, state } = rig();
    const token = await signPermit(permit, ours.secret);
    said.batches = [{ batch_id: batchId, state: 'paused' }];
    expect(await admit(token)).toEqual({ kind: 'later', delayMs: 1_000 });
    state.elapsedMs = 1_001;
    said.batches = [];
    expect(await admit(token)).toEqual({ kind: 'refused', code: 'batch_ended' });
  });

  it('asks at most once a second, however many items come', async () => {
    const { admit, state } = rig();
    const token = await signPermit(permit, ours.secret);
    await Promise.all(Array.from({ length: 50 }, () => admit(token)));
    await admit(token);
    expect(state.asked).toBe(1);
    state.elapsedMs = 1_001;
    await admit(token);
    expect(state.asked).toBe(2);
  });

  it('lives 5 s on what the operator said last, then lets items wait', async () => {
    const { admit, state } = rig();
    const token = await signPermit(permit, ours.secret);
    await admit(token);
    state.down = true;
    state.elapsedMs = 5_000;
    expect(await admit(token)).toMatchObject({ kind: 'item' });
    state.elapsedMs = 5_001;
    expect(await admit(token)).toEqual({ kind: 'later', delayMs: 1_000 });
    state.down = false;
    expect(await admit(token)).toMatchObject({ kind: 'item' });
  });

  it('does not take an answer that is older than the batch for its end', async () => {
    const { admit, said, state } = rig();
    const token = await signPermit(permit, ours.secret);
    said.batches = [];
    let begun: Promise<unknown> | undefined;
    state.beforeAnswer = async () => {
      if (begun !== undefined) return;
      // The batch begins, and its first item arrives, while the first request is under way.
      said.batches = [{ batch_id: batchId, state: 'running' }];
      state.elapsedMs += 5;
      begun = admit(token);
    };
    const first = admit(token);
    await first;
    expect(await begun).toMatchObject({ kind: 'item' });
    expect(state.asked).toBe(2);
  });
});
