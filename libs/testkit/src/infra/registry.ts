import { mkdirSync } from 'node:fs';
import { answersOk } from '../network/answers-ok.js';
import type { Program } from '../process/program.js';
import { jvmEnvironment, jvmFlags } from './java.js';

export interface RegistryOptions {
  dir: string;
  port: number;
  /**
   * PostgreSQL database that keeps schemas and their ids: with memory storage, as when it is
   * absent, a restart would give the ids on the topics another meaning. */
  databaseUrl?: string;
  java: string;
  jar: string;
  /** Further options of the JVM. */
  jvmOptions: string[];
  logFile: string;
}

/** Base URL of the Confluent-compatible API of a registry on this machine. */
export const registryUrl = (port: number): string => `http://127.0.0.1:${port}/apis/ccompat/v7`;

/** The schema registry (Apicurio) as a program. */
export function prepareRegistry({ dir, port, databaseUrl, java, jar, jvmOptions, logFile }: RegistryOptions): Program {
  mkdirSync(dir, { recursive: true });
  return {
    name: 'registry',
    command: java,
    args: [...jvmFlags(160), ...jvmOptions, '-jar', jar],
    env: {
      ...jvmEnvironment,
      QUARKUS_HTTP_HOST: '127.0.0.1',
      QUARKUS_HTTP_PORT: String(port),
      QUARKUS_LOG_LEVEL: 'WARN',
      QUARKUS_LOG_CONSOLE_JSON: 'false',
      ...(databaseUrl === undefined ? {} : storageIn(new URL(databaseUrl))),
    },
    cwd: dir,
    logFile,
    stopSignal: 'SIGTERM',
    stopGraceMs: 10_000,
    ready: () => registryAnswers(registryUrl(port)),
  };
}

const storageIn = (database: URL): Record<string, string> => ({
  APICURIO_STORAGE_KIND: 'sql',
  APICURIO_STORAGE_SQL_KIND: 'postgresql',
  APICURIO_DATASOURCE_URL: `jdbc:postgresql://${database.host}${database.pathname}`,
  APICURIO_DATASOURCE_USERNAME: decodeURIComponent(database.username),
  APICURIO_DATASOURCE_PASSWORD: decodeURIComponent(database.password),
  APICURIO_DATASOURCE_JDBC_INITIAL_SIZE: '1',
  APICURIO_DATASOURCE_JDBC_MIN_SIZE: '1',
  APICURIO_DATASOURCE_JDBC_MAX_SIZE: '6',
});

/** True when the registry reads its storage; false while it starts or its database is down. Never waits longer than 2 s. */
export const registryAnswers = (url: string): Promise<boolean> => answersOk(`${url}/subjects`);
