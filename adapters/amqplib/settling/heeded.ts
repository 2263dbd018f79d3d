import { setTimeout as sleep } from 'node:timers/promises'
import { answerWithin } from '../connection/answer-within.ts'
import type { AmqpChannel, AmqpMessage } from '../amqplib-like.ts'

/** Right before a close, a quorum queue processes only about the first 34 settle frames. */
export const FRAMES_HEEDED = 30
/** After this time it has processed all that the broker has read, if neither its disk nor its processor is busy. */
const FRAMES_HEEDED_AFTER_MS = 100
/** A broker that is busy takes as many times longer for one answer of its own. */
const ANSWERS_UNTIL_HEEDED = 20
const FRAMES_HEEDED_BY_MS = 2_000

const ANSWER_WITHIN_MS = 5_000
/** The lowest that the broker accepts: a message goes to any other consumer first. */
const LAST = { 'x-priority': -(2 ** 31) }

/**
 * Resolves when the broker has handed every settle of this channel to the queue, so that the channel may be closed. The
 * broker sends a quorum queue about 32 of them, and the rest when the queue has processed these. It asks the queue about
 * a consumer that comes or goes, and the queue answers after them. So a consumer comes and goes here. Where one consumer
 * is active this one gets no message; elsewhere it gets at most one, which is returned. Not where that counts towards a
 * delivery limit: the queue could drop the message.
 *
 * @throws NoAnswerError, or the error of amqplib if the channel is closed
 */
export async function untilHeeded(channel: AmqpChannel, queue: string, consumerTag: string): Promise<void> {
  const taken: AmqpMessage[] = []
  await answerWithin(ANSWER_WITHIN_MS, 'set prefetch', channel.prefetch(1))
  const consuming = channel.consume(queue, (raw) => raw !== null && taken.push(raw), { consumerTag, arguments: LAST })
  await answerWithin(ANSWER_WITHIN_MS, `consume ${queue}`, consuming)
  await answerWithin(ANSWER_WITHIN_MS, 'cancel', channel.cancel(consumerTag))
  // Not before: it would come again.
  for (const raw of taken) channel.nack(raw, false, true)
}

/**
 * For a channel that must not be given another message. Resolves when the broker has read all settles of this channel,
 * and its queue has had time to process them; a busy one can need longer, and then some are lost.
 */
export async function untilRead(channel: Pick<AmqpChannel, 'cancel'>): Promise<void> {
  try {
    // A channel answers the cancel of a consumer that it does not have, in its turn.
    await answerWithin(ANSWER_WITHIN_MS, 'cancel', channel.cancel('consume-once-none'))
    const read = performance.now()
    await answerWithin(ANSWER_WITHIN_MS, 'cancel', channel.cancel('consume-once-none'))
    const busyMs = (performance.now() - read) * ANSWERS_UNTIL_HEEDED
    await sleep(Math.min(Math.max(FRAMES_HEEDED_AFTER_MS, busyMs), FRAMES_HEEDED_BY_MS))
  } catch {
    // It is closed, or its broker silent.
  }
}
