import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { projectRoot } from '../project-root.js';

/** Small heaps and the cheap compiler: start in seconds, few threads, little memory; plenty for one machine's demo and tests. */
export const jvmFlags = (heapMb: number): string[] => [
  '-Xms48m',
  `-Xmx${heapMb}m`,
  '-XX:+UseSerialGC',
  // Garbage is short-lived here: a small young generation, and an old one that does not grow far beyond what lives in it.
  '-Xmn24m',
  '-XX:MinHeapFreeRatio=15',
  '-XX:MaxHeapFreeRatio=40',
  '-XX:TieredStopAtLevel=1',
  '-XX:ReservedCodeCacheSize=64m',
  '-Xss512k',
  '-XX:-UsePerfData',
  '-Xshare:auto',
  '-Djava.awt.headless=true',
];

/** glibc keeps a heap per thread otherwise, tens of megabytes for a JVM. */
export const jvmEnvironment = { MALLOC_ARENA_MAX: '2' };

/** Path of a `java` that runs Kafka and the registry. Throws, with what to install, when there is none. */
export function javaCommand(): string {
  // One search, in plain JavaScript, because the check of prerequisites runs before anything is installed or built.
  const java = execFileSync(process.execPath, [join(projectRoot(), 'scripts', 'find-java.mjs')], { encoding: 'utf8' });
  if (java === '') throw new Error('no Java 17 or newer was found: install a JRE, or set JAVA_HOME');
  return java;
}
