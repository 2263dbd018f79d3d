import type { AmqpChannel } from '../amqplib-like.ts'
import { closeQuietly } from './close.ts'
import { watch } from './watch.ts'
import { answerWithin } from './answer-within.ts'

/**
 * Opens a channel. One that opens after the timeout is closed, and its errors are handled: a recovering lent connection
 * opens a channel for every earlier call.
 */
export async function openChannel<C extends AmqpChannel>(opening: Promise<C>, withinMs: number): Promise<C> {
  try {
    return await answerWithin(withinMs, 'open channel', opening)
  } catch (error) {
    opening.then(closeLate, () => {})
    throw error
  }
}

function closeLate(channel: AmqpChannel): void {
  watch(channel, () => {})
  void closeQuietly(channel)
}
