import type { AmqpChannel } from '../slice.ts'
import { closeQuietly } from './close.ts'
import { watch } from './watch.ts'
import { within } from './within.ts'

/**
 * One that comes too late is closed, and its errors are heard: a lent connection that recovers by itself owes a channel for
 * each time it was asked in vain.
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
