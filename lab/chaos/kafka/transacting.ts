import { setTimeout as sleep } from 'node:timers/promises'
import { Kafka, logLevel, type Producer, type Transaction } from 'kafkajs'
import { uniqueName } from '../../../test/kit/namespace.ts'
import type { Payload } from '../messages.ts'
import { between, seeded, type Random } from '../seeded.ts'
import type { TransactionEvidence } from './evidence.ts'
import { PARTITIONS } from './plan.ts'

interface TransactingParts {
  readonly brokers: readonly string[]
  readonly topic: string
  readonly seed: number
  /** When there are enough. */
  readonly until: AbortSignal
}

/** Their transactions overlap, and end in another order than that in which they began. */
const PRODUCERS = 3
const ABORTED = 0.4
const MOST_MESSAGES = 6
const MOST_PAUSE_MS = 150
/** Longer than a broker is away, shorter than the run is patient. */
const TIMEOUT_MS = 20_000

/**
 * Producers that commit and abort transactions of several partitions. After a failure one is built anew: the broker then
 * ends the transaction that the old one had left open, and refuses whatever still comes from it.
 */
export class Transacting {
  readonly ended: TransactionEvidence[] = []
  readonly #parts: TransactingParts

  constructor(parts: TransactingParts) {
    this.#parts = parts
  }

  async run(): Promise<void> {
    await Promise.all(Array.from({ length: PRODUCERS }, (_, producer) => this.#produce(`t${producer}`)))
  }

  async #produce(name: string): Promise<void> {
    const { seed, until } = this.#parts
    const random = seeded(seed, `transactions ${name}`)
    const transactionalId = uniqueName(name)
    let producer: Producer | undefined
    for (let number = 0; !until.aborted;) {
      producer ??= await this.#connect(transactionalId)
      if (producer === undefined) continue
      const evidence = await this.#transact(producer, `${name}-${number++}`, random)
      this.ended.push(evidence.transaction)
      if (!evidence.isSound) {
        await producer.disconnect().catch(() => {})
        producer = undefined
      }
      await sleep(between(random, 0, MOST_PAUSE_MS))
    }
    // What it left open is aborted, or nothing behind it could be read.
    while ((producer ??= await this.#connect(transactionalId)) === undefined);
    await producer.disconnect().catch(() => {})
  }

  async #connect(transactionalId: string): Promise<Producer | undefined> {
    const client = new Kafka({
      brokers: [...this.#parts.brokers],
      logLevel: logLevel.NOTHING,
      requestTimeout: 5_000,
      retry: { initialRetryTime: 50, maxRetryTime: 500, retries: 5 },
    })
    const producer = client.producer({
      transactionalId,
      idempotent: true,
      maxInFlightRequests: 1,
      metadataMaxAge: 5_000,
      transactionTimeout: TIMEOUT_MS,
    })
    try {
      await producer.connect()
      return producer
    } catch {
      await producer.disconnect().catch(() => {})
      await sleep(200)
      return undefined
    }
  }

  /** It is not sound any more after an error. */
  async #transact(
    producer: Producer,
    name: string,
    random: Random,
  ): Promise<{ readonly transaction: TransactionEvidence; readonly isSound: boolean }> {
    const ids = Array.from({ length: between(random, 1, MOST_MESSAGES) }, (_, index) => `${name}-${index}`)
    const isAborted = random() < ABORTED
    // It ends it, whatever became of it here: only a commit makes anything of it visible.
    let fate: TransactionEvidence['fate'] = 'aborted'
    try {
      const transaction = await producer.transaction()
      for (const id of ids) {
        await this.#send(transaction, id, between(random, 0, PARTITIONS - 1))
        await sleep(between(random, 0, 10))
      }
      if (isAborted) {
        await transaction.abort()
      } else {
        fate = 'unknown'
        await transaction.commit()
        fate = 'committed'
      }
      return { transaction: { fate, ids }, isSound: true }
    } catch {
      return { transaction: { fate, ids }, isSound: false }
    }
  }

  /** One partition in each send: kafkajs resolves one to several although some got nothing. */
  async #send(transaction: Transaction, id: string, partition: number): Promise<void> {
    const payload: Payload = { id, workMs: 0, fails: 'never', padding: '' }
    const message = { partition, key: id, value: JSON.stringify(payload), headers: { 'message-id': id } }
    const answers = await transaction.send({ topic: this.#parts.topic, messages: [message] })
    if (!answers.some((answer) => answer.partition === partition && answer.errorCode === 0)) {
      throw new Error('not confirmed')
    }
  }
}
