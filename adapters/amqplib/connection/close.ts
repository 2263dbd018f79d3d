import type { AmqpEvents } from '../amqplib-like.ts'
import { answerWithin } from './answer-within.ts'

const CLOSE_WITHIN_MS = 5_000

interface Closable extends AmqpEvents {
  close(): Promise<void>
}

/** Rejects with `NoAnswerError`, or with the error of amqplib if it is closed already. */
export async function close(closable: Closable): Promise<void> {
  // If the connection is lost while it closes, `close()` never answers, but the event `close` comes.
  const closed = new Promise<void>((resolve) => {
    closable.on('close', () => resolve())
  })
  await answerWithin(CLOSE_WITHIN_MS, 'close', Promise.race([closed, closable.close()]))
}

/** Closes a connection or channel that may be closed already. */
export async function closeQuietly(closable: Closable): Promise<void> {
  try {
    await close(closable)
  } catch {
    // It is gone, or will be.
  }
}
