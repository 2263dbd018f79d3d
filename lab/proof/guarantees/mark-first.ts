import type { Guarantee } from './guarantee.ts'

export const MARK_FIRST: Guarantee = {
  strategy: "`redisLease({ marks: 'before-handler' })`: at most once",
  claims: [
    { says: '**yes**, when its process dies after the claim, or its outcome is unknown', tests: ['T250', 'T251'] },
    { says: 'no', tests: ['T250', 'T251', 'T252'] },
    { says: '–' },
    { says: '**no**', tests: ['T250', 'T251', 'T252'] },
  ],
  breaksWhen: [
    {
      says: 'a handler that throws although its effect happened (it must throw `OutcomeUnknownError`)',
      tests: ['T253'],
    },
    {
      says: 'Redis loses the mark, or retention ends before the last redelivery: it runs again',
      tests: ['T254'],
    },
  ],
}
