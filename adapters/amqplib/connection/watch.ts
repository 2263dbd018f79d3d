import { describeError } from '../../../src/internal.ts'
import type { AmqpEvents } from '../amqplib-like.ts'

/**
 * Listens for the end of a connection or channel. Call it before the first use: an `error` event without a listener
 * would end the connection of a channel, or the process. `onClose` gets the reason, which usually comes with the
 * `error` event before `close`.
 */
export function watch(emitter: AmqpEvents, onClose: (why: string) => void): () => void {
  let why: string | undefined
  const onError = (error?: Error): void => {
    why = describeError(error)
  }
  const onEnd = (error?: Error): void => onClose(error === undefined ? (why ?? 'closed') : describeError(error))
  emitter.on('error', onError)
  emitter.on('close', onEnd)
  emitter.on('handler-error', ignore)
  return () => {
    emitter.removeListener('error', onError)
    emitter.removeListener('close', onEnd)
    emitter.removeListener('handler-error', ignore)
  }
}

function ignore(): void {
  // An exception of another listener: no listener here throws.
}
