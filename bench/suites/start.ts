import { onKafka, onRabbit } from '../contenders/library/brokers.ts'
import { GROUP, LONGEST, pausesWhen, USUAL, type Change } from '../contenders/start/pauses.ts'
import { FIRST, LATER } from '../contenders/start/starting.ts'
import { lazily } from '../lazily.ts'
import { OF_OLD_SERVICE } from '../places/plans.ts'
import { named, type Bound, type Scenario, type Suite } from '../suite.ts'

const byHand = lazily(() => import('../contenders/start/start-by-hand.ts'))
const library = lazily(() => import('../contenders/start/start-library.ts'))

const members = lazily(() => import('../contenders/start/members.ts'))

const PREFETCH = 100
/** Of the time of the client alone. */
const MOST = 1.2
/** The same of tens of milliseconds. */
const MOST_OF_LITTLE = 2

const asSoonAs = (of: string, to: string): readonly Bound[] =>
  [FIRST, LATER].map((figure) => ({ of, figure, most: MOST, timesThatOf: to }))

const opened = 'from the opening of the clients to the first message in its handler'

/** How soon a service that starts handles messages. */
export const start: Suite = {
  name: 'start',
  packages: ['kafkajs', 'amqplib', 'ioredis', 'pg'],
  smoke: 400,
  scenarios: [
    {
      name: 'kafka-redis',
      title: `Kafka, 8 partitions with messages, a new group, leases in Redis: ${opened}`,
      messages: 2_000,
      repetitions: 5,
      needs: ['kafka', 'redis'],
      place: OF_OLD_SERVICE,
      contenders: named({
        'eachBatch, SET NX': byHand(({ eachBatchWithSetNx }) => eachBatchWithSetNx),
        redisLease: library(({ startOfLease }) => startOfLease(onKafka)),
      }),
      ratios: [],
      bounds: asSoonAs('redisLease', 'eachBatch, SET NX'),
    },
    {
      name: 'kafka-postgres',
      title: `Kafka, 8 partitions with messages, a new group, inbox in Postgres whose tables are there: ${opened}`,
      messages: 2_000,
      repetitions: 5,
      needs: ['kafka', 'postgres'],
      place: OF_OLD_SERVICE,
      contenders: named({
        'eachBatch, inbox row': byHand(({ eachBatchWithRow }) => eachBatchWithRow),
        postgresInbox: library(({ startOfInbox }) => startOfInbox(onKafka)),
      }),
      ratios: [],
      bounds: asSoonAs('postgresInbox', 'eachBatch, inbox row'),
    },
    {
      name: 'rabbitmq-redis',
      title: `RabbitMQ, quorum queue with messages, prefetch ${PREFETCH}, leases in Redis: ${opened}`,
      messages: 2_000,
      repetitions: 5,
      needs: ['rabbitmq', 'redis'],
      place: { queueType: 'quorum' },
      contenders: named({
        'SET NX, SET, ack each': byHand(({ ackEachWithSetNx }) => ackEachWithSetNx(PREFETCH)),
        redisLease: library(({ startOfLease }) => startOfLease(onRabbit(PREFETCH, 'quorum'))),
      }),
      ratios: [],
      bounds: asSoonAs('redisLease', 'SET NX, SET, ack each'),
    },
    pauses('joins', 'a second member joins'),
    pauses('leaves', 'one of two members leaves in order'),
    pauses('killed', 'one of two members is killed'),
  ],
}

/** How long the partitions stand still. With a kill most of it is the session. */
function pauses(change: Change, what: string): Scenario {
  const timeouts = `session ${GROUP.sessionTimeout / 1_000} s (of kafkajs: 30 s), heartbeat every ${GROUP.heartbeatInterval / 1_000} s (of kafkajs: 3 s)`
  return {
    name: change,
    title: `Kafka, 8 partitions, 50 messages a second in each, leases in Redis; ${timeouts}; ${what}: longest time without a message of a partition`,
    messages: 1,
    repetitions: change === 'killed' ? 3 : 9,
    needs: ['kafka', 'redis'],
    contenders: named({
      'eachBatch, SET NX': members(({ eachBatchMember }) => pausesWhen(change, eachBatchMember)),
      redisLease: members(({ leaseMember }) => pausesWhen(change, leaseMember)),
    }),
    ratios: [],
    bounds: [LONGEST, USUAL].map((figure) => ({
      of: 'redisLease',
      figure,
      most: change === 'killed' ? MOST : MOST_OF_LITTLE,
      timesThatOf: 'eachBatch, SET NX',
    })),
  }
}
