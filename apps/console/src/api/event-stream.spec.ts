import { describe, expect, it } from '@jest/globals';
import { eventReader } from './event-stream.js';

describe('a reader of server-sent events', () => {
  it('gives each event once it is whole, however it was cut', () => {
    const text = ': hello\n\nevent: changed\ndata: {"what":["batches"]}\n\nevent: changed\r\ndata: a\r\ndata: b\r\n\r\n';
    for (let size = 1; size <= text.length; size += 1) {
      const read = eventReader();
      const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, index) => text.slice(index * size, (index + 1) * size));
      expect(pieces.flatMap(read)).toEqual([
        { event: 'changed', data: '{"what":["batches"]}' },
        { event: 'changed', data: 'a\nb' },
      ]);
    }
  });

  it('gives nothing for a heartbeat', () => {
    expect(eventReader()(':\n\n: still here\n\n')).toEqual([]);
  });
});
