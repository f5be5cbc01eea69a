/** What `endpoints.json` of a running stack holds. */
export interface Endpoints {
  readonly intake: string;
  readonly sandboxCrm: string;
  readonly sandboxMarketing: string;
  readonly sandboxChat: string;
  readonly schemaRegistry: string;
  readonly kafkaBrokers: string;
  readonly databaseUrl: string;
  readonly sourceKey: string;
  readonly metrics: Readonly<Record<string, string>>;
  readonly internal: Readonly<Record<string, string>>;
  readonly pids: Readonly<Record<string, number>>;
}
