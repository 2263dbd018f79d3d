import { describe, expect, it } from '@jest/globals'
import { isSupported } from '../../adapters/platformatic-kafka/supported-node.ts'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import { startPrivateKafka, type PrivateKafka } from '../../test/kit/servers/private-kafka.ts'
import { startPrivateRedis, type PrivateRedis } from '../../test/kit/servers/private-redis.ts'
import { CONTENDERS, PARTITIONS, SESSIONS } from './plan.ts'
import { runRound } from './round.ts'

let [kafka, redis]: [PrivateKafka?, PrivateRedis?] = []

beforeAllOpen(async (own) => {
  kafka = own(await startPrivateKafka({ properties: SESSIONS }))
  redis = own(await startPrivateRedis())
})

const contenders = CONTENDERS.filter((client) => client === 'kafkajs' || isSupported(process.versions.node))

/** The short form of `npm run rebalance`. How long the pauses are is up to the machine. */
describe.each(contenders)('a group that members join, leave and are killed in, with %s', (contender) => {
  it('handles everything, and nothing twice', async () => {
    if (kafka === undefined || redis === undefined) throw new Error('not opened')
    const { nothing, joins, leaves, killed } = await runRound(contender, { kafka, redis }, 0.5)
    for (const { handledAgain } of [nothing, joins, leaves]) expect(handledAgain).toBe(0)
    expect(nothing).toMatchObject({ moved: 0, redelivered: 0 })
    // By KIP-848 nobody gives up more than his share of the difference.
    const least = [PARTITIONS / 4, PARTITIONS / 4, PARTITIONS / 3]
    const moved = [joins.moved, leaves.moved, killed.moved]
    expect(contender === 'platformatic-kip848' ? moved : least).toEqual(least)
  }, 400_000)
})
