// naive-process.js SETTINGS: the naive writer as a process of its own, so that it can be killed like any other. SETTINGS is JSON.
import { type NaiveSettings, NaiveWriter } from './naive-writer.js';

await new NaiveWriter(JSON.parse(process.argv[2] ?? '') as NaiveSettings).start();
