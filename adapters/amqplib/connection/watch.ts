import { describeError } from '../../../src/index.ts'
import type { AmqpEvents } from '../slice.ts'

/**
 * Listens to the end of a connection or channel. To be called before its first use: an `error` without a listener would
 * end the connection of a channel, or the process. `onClose` gets the reason, which `error` tells before `close`, if
 * anything does.
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
  // What a listener threw: no listener here throws.
}
