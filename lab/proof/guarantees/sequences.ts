import type { Guarantee } from './guarantee.ts'

export const SEQUENCES: Guarantee = {
  strategy: '`lease`, numbered messages: `redisSequences`, `postgresSequences`',
  claims: [
    { says: 'no', tests: ['T263'], models: ['sequences-park', 'sequences-tail', 'sequences-two-crashes'] },
    { says: 'as `lease`', tests: ['T263'] },
    { says: 'yes', tests: ['T263'] },
    { says: 'yes', tests: ['T263'] },
  ],
  breaksWhen: [
    { says: 'as `lease`', tests: ['T263'] },
    {
      says: "a sender uses a number again: parked far behind its newest number, and **lost** under `onBehind: 'duplicate'`",
      tests: ['T263', 'T264'],
      models: ['sequences-reset-duplicate'],
    },
    { says: 'more gaps than `maxGaps`: lower numbers are parked', tests: ['T265'] },
  ],
}
