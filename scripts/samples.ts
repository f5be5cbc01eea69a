// samples.js ENDPOINTS_FILE: puts three fictional leads in, two over HTTP and one through the topic `leads`, and prints what becomes of each
// as it happens: from intake's own answer, from the sandbox CRM and from the sandbox chat.
import { type Endpoints, readJsonFile } from '#testkit';
import { postLead, produceLead } from './samples/doors.js';
import { followJourneys } from './samples/journey.js';
import { samplePeople } from './samples/people.js';

const endpoints = readJsonFile<Endpoints>(process.argv[2] ?? '');
if (endpoints === undefined) throw new Error('usage: samples.js ENDPOINTS_FILE, the file `endpoints.json` of a running instance');

const [first, second, third] = samplePeople(Date.now().toString(36));
console.log('Three sample leads: two over HTTP, one through the topic leads');
await Promise.all([postLead(endpoints, first), postLead(endpoints, second), produceLead(endpoints, third)]);
await followJourneys(endpoints, [first, second, third], console.log);
