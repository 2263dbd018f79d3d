import type { Guarantee } from './guarantee.ts'

export const OBSERVE: Guarantee = {
  strategy: "`lease`, `mode: 'observe'`",
  claims: [
    { says: 'no', tests: ['T240', 'T241', 'T242'] },
    { says: 'yes, at each delivery', tests: ['T243'] },
    { says: 'yes', tests: ['T243'] },
    { says: 'yes', tests: ['T243'] },
  ],
  breaksWhen: [{ says: 'always: it reports duplicates and drops none', tests: ['T243', 'T244'] }],
}
