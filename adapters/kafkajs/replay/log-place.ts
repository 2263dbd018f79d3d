import { BrokerError, describeError, isConsumeOnceError } from '../../../src/spi.ts'
import type { AdminClient } from '../admin-client.ts'
import type { SubscriptionAdminLike } from '../slice.ts'

/** A topic, or one of its partitions. */
export interface LogPlace {
  readonly topic: string
  readonly partition: number | undefined
}

export type ReplayAdmin = AdminClient<SubscriptionAdminLike>

/** Turns what kafkajs throws into a `BrokerError`. */
export async function answered<T>({ topic }: Pick<LogPlace, 'topic'>, question: () => Promise<T>): Promise<T> {
  try {
    return await question()
  } catch (error) {
    if (isConsumeOnceError(error)) throw error
    const text = `topic ${topic} could not be read: ${describeError(error)}. Check the brokers given to Kafka(), then do it again`
    throw new BrokerError('BROKER_UNREACHABLE', text, { cause: error })
  }
}
