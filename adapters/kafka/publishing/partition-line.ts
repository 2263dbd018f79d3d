import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import { backoffMs, BrokerError, describeError, systemEntropy, unanswered } from '../../../src/internal.ts'
import type { SentMessage } from '../client.ts'
import { chunksOf } from '../copies/chunks.ts'
import { isTooLarge } from '../copies/confirmed-producer.ts'
import { errorType, isAnswer, isTransient, isUnanswered } from '../protocol-error.ts'
import type { TopicProducers } from './topic-producers.ts'

/** The time limit of one send: if its broker does not answer, another one may lead the partition by then. */
const ANSWER_WITHIN_MS = 10_000
const MOST_AT_ONCE = 1_000
const AGAIN = { initialMs: 100, maxMs: 1_000 }

interface Outgoing {
  readonly message: SentMessage
  /** By the clock of `performance.now()`. */
  readonly deadline: number
  readonly resolve: () => void
  readonly reject: (error: BrokerError) => void
  /** Sends that may have written it. */
  doubts: number
}

/**
 * The messages for one partition, in the order of the calls. One send at a time: what comes meanwhile goes into the next.
 * A send that fails is repeated with the same messages until the oldest of them is late.
 */
export class PartitionLine {
  readonly #producers: TopicProducers
  readonly #topic: string
  readonly #closing = new AbortController()
  #waiting: Outgoing[] = []
  /** On their way. */
  #sent: readonly Outgoing[] = []
  #isRunning = false
  /** The topic may accept fewer bytes at once than other topics. */
  #mostAtOnce = MOST_AT_ONCE

  constructor(producers: TopicProducers, topic: string) {
    this.#producers = producers
    this.#topic = topic
  }

  publish(message: SentMessage, deadline: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ message, deadline, resolve, reject, doubts: 0 })
      if (!this.#isRunning) void this.#run()
    })
  }

  /** Rejects what is not confirmed. */
  close(): void {
    this.#closing.abort()
    this.#reject([...this.#sent, ...this.#waiting.splice(0)], new Error('the publisher was closed'))
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    await turn() // More of this turn of the event loop.
    while (this.#waiting.length > 0) {
      const { value: next = [] } = chunksOf(this.#waiting.slice(0, this.#mostAtOnce), ({ message }) => message).next()
      this.#waiting = this.#waiting.slice(next.length)
      this.#sent = next
      await this.#send(next)
    }
    this.#sent = []
    this.#isRunning = false
  }

  async #send(batch: readonly Outgoing[]): Promise<void> {
    const messages = batch.map(({ message }) => message)
    // Those who called first.
    const deadline = Math.min(...batch.map((one) => one.deadline))
    let reason: unknown
    for (let tries = 1; !this.#closing.signal.aborted; tries++) {
      const leftMs = deadline - performance.now()
      if (leftMs <= 0) return this.#late(batch, reason)
      try {
        await this.#producers.sendAgain(this.#topic, messages, Math.min(leftMs, ANSWER_WITHIN_MS), () => {
          for (const one of batch) one.doubts++
        })
        for (const { resolve } of batch) resolve()
        this.#mostAtOnce = Math.min(MOST_AT_ONCE, 2 * this.#mostAtOnce)
        return
      } catch (error) {
        reason = error
      }
      if (isAnswer(reason) && !isTransient(reason)) return this.#refused(batch, reason)
      const pauseMs = Math.min(backoffMs(tries, AGAIN, systemEntropy.fraction()), deadline - performance.now())
      await sleep(Math.max(0, pauseMs), undefined, { signal: this.#closing.signal }).catch(() => {})
    }
  }

  /** If several messages are sent together, the broker refuses all of them because of one, or because of their size. */
  #refused(batch: readonly Outgoing[], reason: unknown): void {
    for (const one of batch) one.doubts--
    if (batch.length === 1) return this.#reject(batch, reason)
    this.#mostAtOnce = Math.ceil(batch.length / 2)
    this.#waiting.unshift(...batch)
  }

  /** The others go first in the next send. */
  #late(batch: readonly Outgoing[], reason: unknown): void {
    const isLate = ({ deadline }: Outgoing): boolean => deadline <= performance.now()
    this.#reject(batch.filter(isLate), reason)
    this.#waiting.unshift(...batch.filter((one) => !isLate(one)))
  }

  #reject(batch: readonly Outgoing[], reason: unknown): void {
    for (const { reject, doubts } of batch) reject(refused(this.#topic, reason, doubts > 0))
  }
}

export function refused(topic: string, reason: unknown, mayBeThere: boolean): BrokerError {
  const cause = reason ?? new Error('its turn did not come in time')
  const where = mayBeThere
    ? 'It may be in the topic all the same: publish it again, with the same message ID'
    : 'It is not in the topic'
  const code = isUnanswered(cause) && !mayBeThere ? 'BROKER_UNREACHABLE' : 'BROKER_PUBLISH_REFUSED'
  const text = `Kafka did not confirm the message for topic ${topic}: ${describeError(cause)}. ${where}${adviceFor(cause)}`
  const error = new BrokerError(code, text, { cause })
  return saysNothing(cause) ? unanswered(error) : error
}

/** A broker answers for a missing topic as for one that may still come. */
function saysNothing(cause: unknown): boolean {
  return isUnanswered(cause) || (isTransient(cause) && errorType(cause) !== 'UNKNOWN_TOPIC_OR_PARTITION')
}

function adviceFor(cause: unknown): string {
  if (isTooLarge(cause)) return '. Raise max.message.bytes of the topic, or send less'
  return isUnanswered(cause)
    ? '. Check that the brokers are up and can be reached, also under the address they advertise'
    : ''
}
