import {
  brokerOf,
  flag,
  func,
  having,
  millis,
  object,
  or,
  whole,
  type Complete,
  type Table,
} from '../../../src/internal.ts'
import { SQL } from '../options.ts'
import type { OutboxOptions } from './types.ts'

const PUBLISHERS: Table<NonNullable<OutboxOptions['publishers']>, 'kafka' | 'rabbitmq'> = {
  kafka: having('a confirmedPublisher', 'publish'),
  rabbitmq: having('a confirmedPublisher', 'publish'),
}

/** The options of the outbox of any database. */
export const OUTBOX: Table<OutboxOptions, 'maxAttempts' | 'observe'> = {
  publishers: or({}, object(PUBLISHERS)),
  setup: SQL.setup,
  relay: or(true, flag()),
  pollMs: or(100, millis({ least: 1 })),
  maxAttempts: whole({ least: 1 }),
  observe: func(),
}

/** A broker may take this long to confirm, and no transaction of a relay may be ended before that. */
export const RELAY_IDLE_MS = 60_000

const BROKERS = [
  ['kafka', 'consume-once/kafkajs or consume-once/platformatic-kafka'],
  ['rabbitmq', 'consume-once/amqplib'],
] as const

/** A relay without a publisher could only refuse, and so could the publisher of another broker. */
export function problemsOfOutbox(
  { publishers, relay }: Pick<Complete<OutboxOptions, 'maxAttempts' | 'observe'>, 'publishers' | 'relay'>,
  problems: string[],
): void {
  for (const [system, from] of BROKERS) {
    const publisher = publishers[system]
    const to = publisher && brokerOf(publisher)
    if (to === undefined || to === system) continue
    problems.push(
      `publishers: ${system}: expected a confirmedPublisher of ${from}, got one for ${to}: give it as ${to}`,
    )
  }
  if (!relay || publishers.kafka !== undefined || publishers.rabbitmq !== undefined) return
  problems.push(
    'publishers: expected one for Kafka or RabbitMQ, such as { kafka: confirmedPublisher(kafka) }, got none; with relay: false it only writes',
  )
}
