import { describe, expect, it } from '@jest/globals';
import { Gate, type PauseReason } from './gate.js';

describe('a gate', () => {
  const watched = () => {
    const events: string[] = [];
    const gate = new Gate({
      onClose: (reason: PauseReason) => events.push(`close ${reason}`),
      onOpen: (reason: PauseReason, open: boolean) => events.push(`open ${reason} ${open}`),
    });
    return { gate, events };
  };

  it('is open again when its last reason is gone, and says each change once', () => {
    const { gate, events } = watched();
    gate.close('vault');
    gate.close('vault');
    gate.close('database');
    gate.open('vault');
    gate.open('vault');
    expect(gate.isOpen).toBe(false);
    gate.open('database');
    expect(gate.isOpen).toBe(true);
    expect(events).toEqual(['close vault', 'close database', 'open vault false', 'open database true']);
  });

  it('admits a probe only while the destination’s failures are the only reason', () => {
    const { gate } = watched();
    expect(gate.admitsProbe).toBe(false);
    gate.close('destination');
    expect(gate.admitsProbe).toBe(true);
    gate.close('stopping');
    expect(gate.admitsProbe).toBe(false);
  });
});
