import { setTimeout as sleep } from 'node:timers/promises'
import { isUnanswered } from '../kafka/protocol-error.ts'

/** As long as a client takes that may retry. Such a client is not asked to connect again. */
const CONNECT_WITHIN_MS = 1_000
const AGAIN_MS = 50

/**
 * Connects a client of kafkajs to any of its brokers. kafkajs tries them in turn, but only as often as the user's client may
 * retry: with `retries: 0` a single broker that is down prevents every start. Each call of `connect()` takes the next one.
 */
export async function connectAny(client: { connect(): Promise<void> }): Promise<void> {
  const deadline = performance.now() + CONNECT_WITHIN_MS
  for (;;) {
    try {
      return await client.connect()
    } catch (error) {
      if (!isUnanswered(error) || performance.now() > deadline) throw error
    }
    await sleep(AGAIN_MS)
  }
}
