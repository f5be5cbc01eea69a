export interface Sample {
  /** Unlike that of any earlier start: a repeated one would be answered with the stored lead. */
  sourceEventId: string;
  door: 'HTTP' | 'Kafka';
  name: string;
  email: string;
  phone: string;
  message: string;
  consent: boolean;
}

/** Three fictional people; the second one gave no consent to marketing. */
export function samplePeople(run: string): [Sample, Sample, Sample] {
  return [
    {
      sourceEventId: `web-${run}-1`,
      door: 'HTTP',
      name: 'Ada Example',
      email: 'ada@example.test',
      phone: '+12025550101',
      message: 'Please call me about the autumn offer.',
      consent: true,
    },
    {
      sourceEventId: `web-${run}-2`,
      door: 'HTTP',
      name: 'Grace Sample',
      email: 'grace@example.test',
      phone: '(202) 555-0102',
      message: 'What does delivery cost?',
      consent: false,
    },
    {
      sourceEventId: `feed-${run}-3`,
      door: 'Kafka',
      name: 'Linus Muster 🚲',
      email: 'linus@example.test',
      phone: '+12025550103',
      message: 'Two of them, please.',
      consent: true,
    },
  ];
}
