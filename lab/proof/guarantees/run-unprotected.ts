import type { Guarantee } from './guarantee.ts'

export const RUN_UNPROTECTED: Guarantee = {
  strategy: "`lease`, `onStoreDown: 'run-unprotected'`",
  claims: [
    { says: 'no', tests: ['T245', 'T246'] },
    { says: 'as `lease`, and while the store does not answer', tests: ['T247'] },
    { says: 'yes', tests: ['T247'] },
    { says: 'yes', tests: ['T247'] },
  ],
  breaksWhen: [
    { says: 'as `lease`', tests: ['T248'] },
    {
      says: 'the store does not answer: what was handled before, or is handled elsewhere, runs again',
      tests: ['T247'],
    },
  ],
}
