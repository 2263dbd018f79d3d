import { P50, P99 } from '../contenders/latency/delays.ts'
import { lazily } from '../lazily.ts'
import { named, type Contender, type Scenario, type Suite } from '../suite.ts'

const measured = lazily(() => import('../contenders/outbox/measured.ts'))

const BY_HAND = 'by hand'
const OURS = 'postgresOutbox'
const PER_SECOND = 500

const PACKAGE = 'pg-transactional-outbox'

function contenders(run: (open: 'byHand' | 'ofPackage' | 'ofLibrary') => Contender['run']): Scenario['contenders'] {
  return named({ [BY_HAND]: run('byHand'), [PACKAGE]: run('ofPackage'), [OURS]: run('ofLibrary') })
}

/** Messages that were committed with an effect, and the relay that publishes them. */
export const outbox: Suite = {
  name: 'outbox',
  packages: ['kafkajs', 'pg', 'pg-transactional-outbox'],
  smoke: 400,
  scenarios: [
    {
      name: 'drain',
      title: 'outbox in Postgres, 1 KB of 10,000 keys, all committed before: published to 8 partitions of Kafka',
      messages: 10_000,
      needs: ['kafka', 'postgres'],
      contenders: contenders((open) =>
        measured(({ drained }) => async (job) => {
          const outboxes = await import('../contenders/outbox/outboxes.ts')
          return drained(outboxes[open])(job)
        }),
      ),
      ratios: [
        { of: OURS, to: BY_HAND },
        { of: OURS, to: PACKAGE },
      ],
    },
    {
      name: 'pace',
      title: `outbox in Postgres, 1 KB, ${PER_SECOND} messages a second, each in a transaction of its own: from COMMIT to the confirm of Kafka`,
      messages: 5_000,
      needs: ['kafka', 'postgres'],
      contenders: contenders((open) =>
        measured(({ delayed }) => async (job) => {
          const outboxes = await import('../contenders/outbox/outboxes.ts')
          return delayed(outboxes[open], PER_SECOND)(job)
        }),
      ),
      ratios: [],
      bounds: [
        { of: OURS, figure: P99, most: 50 },
        { of: OURS, figure: P50, most: 1, timesThatOf: BY_HAND },
      ],
    },
  ],
}
