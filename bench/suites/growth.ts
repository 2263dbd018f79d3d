import { SERVER_CPU } from '../contenders/growth/figures.ts'
import { lazily } from '../lazily.ts'
import type { Contender, Scenario, Suite } from '../suite.ts'

const redisStore = lazily(() => import('../contenders/growth/growth-redis.ts'))
const postgresStore = lazily(() => import('../contenders/growth/growth-postgres.ts'))
const mariadbStore = lazily(() => import('../contenders/growth/growth-mariadb.ts'))

const RECORDS = [10_000, 100_000, 1_000_000, 10_000_000]

/** With as many keys Redis begins to move its tables to larger ones, and is at it for as many calls. */
const MOVING = 2 ** 22 + 1

/** The default of both databases, and one that holds ten million rows. */
const [AS_IT_COMES, LARGE] = ['128MB', '3GB'] as const

const nameOf = (records: number): string => `among ${records.toLocaleString('en-US')}`

/** A message may cost a tenth more. `besides`: contenders that show where a bend comes from. */
function scenarioOf(
  scenario: Pick<Scenario, 'name' | 'title' | 'messages' | 'needs'>,
  among: (records: number) => Contender['run'],
  besides: readonly Contender[],
): Scenario {
  const [least, ...others] = RECORDS as [number, ...number[]]
  const to = nameOf(least)
  return {
    ...scenario,
    repetitions: 1,
    contenders: [...RECORDS.map((records) => ({ name: nameOf(records), run: among(records) })), ...besides],
    ratios: [
      ...others.map((records) => ({ of: nameOf(records), to, goal: 0.9 })),
      ...besides.map(({ name }) => ({ of: name, to })),
    ],
    // A rate is also that of what else runs on the machine.
    bounds: others.map((records) => ({ of: nameOf(records), figure: SERVER_CPU, most: 1.1, timesThatOf: to })),
  }
}

const ofAll = nameOf(RECORDS.at(-1) ?? 0)

/**
 * Cost of a message in a store with many records, each in a server of its own. Few messages of its own, so that 10,000 stay the
 * smallest number of records, and so that in Redis no other table is moved.
 */
export const growth: Suite = {
  name: 'growth',
  packages: ['ioredis', 'pg', 'mysql2'],
  smoke: 400,
  scenarios: [
    scenarioOf(
      {
        name: 'redis',
        title: 'redisLease: claim and mark, batches of 100, two at once',
        messages: 30_000,
        needs: ['redis'],
      },
      (records) => redisStore(({ pairsAmong }) => pairsAmong(records)),
      [
        {
          name: `${nameOf(MOVING)}, tables being moved`,
          run: redisStore(({ pairsAmong }) => pairsAmong(MOVING, 'moving')),
        },
      ],
    ),
    scenarioOf(
      {
        name: 'postgres',
        title: `postgresInbox: transactions of 500, four at once, shared_buffers of ${AS_IT_COMES}`,
        messages: 60_000,
        needs: ['postgres'],
      },
      (records) => postgresStore(({ effectsAmong }) => effectsAmong(records, AS_IT_COMES)),
      [
        {
          name: `${ofAll}, shared_buffers of ${LARGE}`,
          run: postgresStore(({ effectsAmong }) => effectsAmong(RECORDS.at(-1) ?? 0, LARGE)),
        },
      ],
    ),
    scenarioOf(
      {
        name: 'mariadb',
        title: `mysqlInbox: transactions of 500, four at once, innodb_buffer_pool_size of ${AS_IT_COMES}`,
        messages: 60_000,
        needs: ['mariadb'],
      },
      (records) => mariadbStore(({ effectsAmong }) => effectsAmong(records, AS_IT_COMES.replace('B', ''))),
      [
        {
          name: `${ofAll}, innodb_buffer_pool_size of ${LARGE}`,
          run: mariadbStore(({ effectsAmong }) => effectsAmong(RECORDS.at(-1) ?? 0, LARGE.replace('B', ''))),
        },
      ],
    ),
  ],
}
