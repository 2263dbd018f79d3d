import type { Shape } from '../contenders/store/postgres-store.ts'
import { lazily } from '../lazily.ts'
import { named, type Scenario, type Suite } from '../suite.ts'

const store = lazily(() => import('../contenders/store/postgres-store.ts'))

const EACH: Shape = { batchSize: 1, transactions: 4 }
const SET: Shape = { batchSize: 500, transactions: 4 }

const NEEDS: Pick<Scenario, 'needs'> = { needs: ['postgres'] }

/** The inbox beside the client that it is built on. Its attempts are committed beside the transaction, before the effect. */
export const postgres: Suite = {
  name: 'postgres',
  packages: ['pg'],
  smoke: 400,
  scenarios: [
    {
      ...NEEDS,
      name: 'each',
      title: 'a transaction for each message, or for 500, four at once: effect, or effect with attempt and mark',
      messages: 10_000,
      contenders: named({
        'bare transaction': store(({ effectsOnly }) => effectsOnly(EACH)),
        postgresInbox: store(({ effectsOnce }) => effectsOnce(EACH)),
        'postgresInbox, transactions of 500': store(({ effectsOnce }) => effectsOnce(SET)),
      }),
      ratios: [
        { of: 'postgresInbox', to: 'bare transaction', goal: 0.65 },
        { of: 'postgresInbox, transactions of 500', to: 'postgresInbox', goal: 10 },
      ],
    },
    {
      ...NEEDS,
      name: 'batch',
      title: 'transactions of 500 messages, four at once, their effects in one statement',
      messages: 200_000,
      contenders: named({
        'rows by hand, no attempts': store(({ effectsAndRows }) => effectsAndRows(SET)),
        postgresInbox: store(({ effectsOnce }) => effectsOnce(SET)),
      }),
      ratios: [
        // 0.8 before attempts are counted, which takes a quarter (stores of an inbox by hand do not count them).
        { of: 'postgresInbox', to: 'rows by hand, no attempts', goal: 0.6 },
      ],
    },
    {
      ...NEEDS,
      name: 'duplicates',
      title: 'claims of what is done, batches of 500, four at once',
      messages: 200_000,
      contenders: named({
        'select = any': store(({ duplicatesBySelect }) => duplicatesBySelect(SET)),
        postgresInbox: store(({ duplicatesThroughInbox }) => duplicatesThroughInbox(SET)),
      }),
      ratios: [{ of: 'postgresInbox', to: 'select = any', goal: 0.8 }],
    },
  ],
}
