import { BrokerError, describeError, isConsumeOnceError } from '../../../src/internal.ts'
import type { AdminClient } from '../admin-client.ts'
import { errorType, isAnswer } from '../protocol-error.ts'

/** A topic, or one of its partitions. */
export interface LogPlace {
  readonly topic: string
  readonly partition: number | undefined
}

export type ReplayAdmin = AdminClient

/** kafkajs reads only in a group. Each reading has one of its own. */
export const GROUP_PREFIX = 'consume-once-replay-'

/** Turns what kafkajs throws into a `BrokerError`. */
export async function answered<T>({ topic }: Pick<LogPlace, 'topic'>, question: () => Promise<T>): Promise<T> {
  try {
    return await question()
  } catch (error) {
    if (isConsumeOnceError(error)) throw error
    const text = `topic ${topic} could not be read: ${describeError(error)}. ${adviceFor(error)}`
    throw new BrokerError('BROKER_UNREACHABLE', text, { cause: error })
  }
}

function adviceFor(error: unknown): string {
  if (errorType(error).endsWith('AUTHORIZATION_FAILED')) {
    return `Allow this client to read and describe the topic, and to read and delete groups whose names begin with ${GROUP_PREFIX}`
  }
  return isAnswer(error) ? 'Do it again' : 'Check the brokers given to Kafka(), then do it again'
}
