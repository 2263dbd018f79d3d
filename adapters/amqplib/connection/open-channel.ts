import type { AmqpChannel } from '../slice.ts'
import { closeQuietly } from './close.ts'
import { watch } from './watch.ts'
import { within } from './within.ts'

/**
 * Opens a channel. One that opens after the timeout is closed, and its errors are handled: a recovering lent connection
 * opens a channel for every earlier call.
 */
export async function openChannel<C extends AmqpChannel>(opening: Promise<C>, withinMs: number): Promise<C> {
  try {
    return await within(withinMs, 'open channel', opening)
  } catch (error) {
    opening.then(closeLate, () => {})
    throw error
  }
}

function closeLate(channel: AmqpChannel): void {
  watch(channel, () => {})
  void closeQuietly(channel)
}
