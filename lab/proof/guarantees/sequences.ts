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

export const INBOX_SEQUENCES: Guarantee = {
  strategy: '`inbox`, numbered messages: `postgresInboxSequences`',
  claims: [
    { says: 'no', tests: ['T291'] },
    { says: 'may start twice', tests: ['T291'] },
    { says: '**no**', tests: ['T291'] },
    { says: 'yes', tests: ['T12'] },
  ],
  breaksWhen: [
    { says: 'as `inbox`', tests: ['T13', 'T14'] },
    {
      says: "a sender uses a number again: parked far behind its newest number, and **lost** under `onBehind: 'duplicate'`",
      tests: ['T291', 'T264'],
    },
    { says: 'more gaps than `maxGaps`: lower numbers are parked', tests: ['T265'] },
  ],
}
