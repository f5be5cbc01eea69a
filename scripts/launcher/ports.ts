import { portTaken } from '#testkit';

/** Apps that keep running, in the order of starting; names as their folders. */
export const services = ['sandbox', 'intake', 'crm-writer', 'notifier', 'reconciler', 'operator'] as const;
export type Service = (typeof services)[number];

export interface Ports {
  intake: number;
  sandbox: number;
  kafka: number;
  kafkaController: number;
  registry: number;
  postgres: number;
  operator: number;
  /** Doors that the failure tour opens while it runs, and breaks. */
  tourDoor: number;
  tourTls: number;
  internal: Record<Service, number>;
}

/** Which port is for what, from the first one on. */
export function portsFrom(base: number): Ports {
  return {
    intake: base,
    sandbox: base + 1,
    kafka: base + 2,
    kafkaController: base + 3,
    registry: base + 4,
    postgres: base + 5,
    operator: base + 6,
    tourDoor: base + 8,
    tourTls: base + 9,
    internal: {
      intake: base + 10,
      'crm-writer': base + 11,
      notifier: base + 12,
      reconciler: base + 13,
      sandbox: base + 14,
      operator: base + 15,
    },
  };
}

/** Throws, naming every port that is taken, what it is for and how to choose others. */
export async function requireFreePorts(ports: Record<string, number>): Promise<void> {
  const taken: string[] = [];
  for (const [name, port] of Object.entries(ports)) if (await portTaken(port)) taken.push(`${port} (${name})`);
  if (taken.length > 0) throw new Error(`in use by another program: port ${taken.join(', ')}. Choose others with --port-base N`);
}
