import { lazily } from '../lazily.ts'
import type { Contender, Scenario, Suite } from '../suite.ts'

const redisStore = lazily(() => import('../contenders/store/growth-redis.ts'))
const postgresStore = lazily(() => import('../contenders/store/postgres-store.ts'))

const RECORDS = [10_000, 100_000, 1_000_000, 5_000_000]

function nameOf(records: number): string {
  return `among ${records.toLocaleString('en-US')}`
}

function scenarioOf(
  scenario: Pick<Scenario, 'name' | 'title' | 'messages' | 'needs'>,
  among: (records: number) => Contender['run'],
): Scenario {
  const [least, ...others] = RECORDS as [number, ...number[]]
  return {
    ...scenario,
    repetitions: 2,
    contenders: RECORDS.map((records) => ({ name: nameOf(records), run: among(records) })),
    // A message may cost a quarter more.
    ratios: others.map((records) => ({ of: nameOf(records), to: nameOf(least), goal: 0.8 })),
  }
}

/** Cost of a message in a store with many records. Few messages of its own, so that 10,000 stay the smallest number of records. */
export const growth: Suite = {
  name: 'growth',
  packages: ['ioredis', 'pg'],
  smoke: 400,
  scenarios: [
    scenarioOf(
      {
        name: 'redis',
        title: 'redisLease: claim and mark, batches of 100, in a Redis of its own',
        messages: 50_000,
        needs: [],
      },
      (records) => redisStore(({ pairsAmongInOwn }) => pairsAmongInOwn(records, 100)),
    ),
    scenarioOf(
      {
        name: 'postgres',
        title: 'postgresInbox: transactions of 500, four at once',
        messages: 50_000,
        needs: ['postgres'],
      },
      (records) => postgresStore(({ effectsAmong }) => effectsAmong(records, { batchSize: 500, transactions: 4 })),
    ),
  ],
}
