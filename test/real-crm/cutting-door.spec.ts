import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from '@jest/globals';
import { type CuttingDoor, openCuttingDoor } from './cutting-door.js';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** A door before a server that says how many calls it has heard. */
async function open(): Promise<CuttingDoor> {
  let heard = 0;
  const server = createServer((_, answer) => void answer.end(String(++heard)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => server.close());
  const door = await openCuttingDoor(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  closers.push(() => door.close());
  return door;
}

/** How many calls the server had heard, this one included; `cut` where the answer never came. */
const ask = (door: CuttingDoor, method: string, first: unknown): Promise<string> =>
  fetch(`${door.url}/form/db/`, { method: 'POST', body: JSON.stringify({ id: 1, method, params: [first, { at: Math.random() }] }) })
    .then((answer) => answer.text())
    .catch(() => 'cut');

it('cuts every request once after the server has heard it, lets its repeats through, and tells what they asked for', async () => {
  const door = await open();
  const method = 'model.party.party.create';
  door.cut('form', { method: 'party.party.create', times: 'once each', fault: 'cut' });
  expect(await ask(door, method, [{ code: 'a', name: 'Ada' }])).toBe('cut');
  expect(await ask(door, method, [{ code: 'a', name: 'Ada' }])).toBe('2');
  expect(await ask(door, method, [{ code: 'b', name: 'Ada' }])).toBe('cut');
  expect(await ask(door, method, [{ code: 'a', name: 'Ada' }])).toBe('4');
  expect(await ask(door, 'model.party.party.write', [7])).toBe('5');
  expect(door.subjects('form', 'party.party.create')).toEqual(['a', 'b']);
});

it.each([
  ['sale.opportunity.create', [{ reference: 'e1' }], 'e1'],
  ['party.party.write', [7], '[7]'],
  ['party.party.search_read', [['code', '=', 'a']], '[["code","=","a"]]'],
  ['db.login', 'robot', '"robot"'],
])('knows a repeated %s by what it begins with', async (method, first, subject) => {
  const door = await open();
  door.cut('form', { method, times: 'once each', fault: 'cut' });
  expect([await ask(door, method, first), await ask(door, method, first)]).toEqual(['cut', '2']);
  expect(door.subjects('form', method)).toEqual([subject]);
});

it('counts calls where it is told how many', async () => {
  const door = await open();
  door.cut('form', { method: 'db.login', times: 2, fault: 'refuse' });
  expect([await ask(door, 'db.login', 'a'), await ask(door, 'db.login', 'a'), await ask(door, 'db.login', 'a')]).toEqual(['', '', '1']);
  expect(door.hits('form', 'db.login')).toBe(2);
  expect(door.subjects('form', 'db.login')).toEqual(['"a"']);
});
