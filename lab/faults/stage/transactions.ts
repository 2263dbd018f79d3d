import type { Kafka, Producer } from 'kafkajs'
import { uniqueName } from '../../../test/kit/namespace.ts'
import type { FaultMessage } from '../message.ts'

/** Time-out of transactions that are never committed. The coordinator looks for them every ten seconds. */
const LOST_AFTER_MS = 3_000
const OPEN_FOR_MS = 60_000

type Open = Awaited<ReturnType<Producer['transaction']>>

/**
 * Producers whose transactions interleave in one partition. Messages go in turn to two that commit. Behind each of them lies a message
 * of a transaction that is aborted. The message of number `late` is in a transaction that stays open until `end`, so that nothing behind it can be
 * read before; and one more producer writes beside it, and is gone.
 */
export class Transactions implements AsyncDisposable {
  /** Offset of each send. */
  readonly offsets: number[] = []
  readonly #kafka: Kafka
  readonly #topic: string
  readonly #late: number
  readonly #producers: Producer[] = []
  readonly #committing: Producer[] = []
  #open: Open[] = []
  #aborted: Open | undefined
  #stays: Open | undefined
  #isTogether = true

  private constructor(kafka: Kafka, topic: string, late: number) {
    this.#kafka = kafka
    this.#topic = topic
    this.#late = late
  }

  static async begin(kafka: Kafka, topic: string, late: number): Promise<Transactions> {
    const self = new Transactions(kafka, topic, late)
    for (let number = 0; number < 2; number++) {
      const producer = await self.#producer(OPEN_FOR_MS)
      self.#committing.push(producer)
      self.#open.push(await producer.transaction())
    }
    self.#aborted = await (await self.#producer(OPEN_FOR_MS)).transaction()
    return self
  }

  async send(message: FaultMessage): Promise<void> {
    const number = this.offsets.length
    if (!this.#isTogether) return await this.#sendAlone(message)
    if (number === this.#late) {
      this.#stays = await (await this.#producer(OPEN_FOR_MS)).transaction()
      this.offsets.push(await this.#write(this.#stays, message))
      const lost = await (await this.#producer(LOST_AFTER_MS)).transaction()
      await this.#write(lost, uncommitted(message, 'lost'))
      return
    }
    const transaction = this.#open[number % this.#open.length]
    if (transaction === undefined || this.#aborted === undefined) throw new Error('no transaction is open')
    this.offsets.push(await this.#write(transaction, message))
    await this.#write(this.#aborted, uncommitted(message, 'aborted'))
  }

  /** Ends all but the transaction that stays open, and the one that nobody ends. */
  async commit(): Promise<void> {
    this.#isTogether = false
    await this.#aborted?.abort()
    for (const transaction of this.#open.splice(0)) await transaction.commit()
  }

  /** Commits the transaction that stayed open. */
  async end(): Promise<void> {
    await this.#stays?.commit()
    this.#stays = undefined
  }

  /** A producer that leaves does not end its transaction. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#producers.map((producer) => producer.disconnect()))
  }

  async #sendAlone(message: FaultMessage): Promise<void> {
    const transaction = await this.#committing[0]?.transaction()
    if (transaction === undefined) throw new Error('no producer commits')
    this.offsets.push(await this.#write(transaction, message))
    await transaction.commit()
  }

  async #producer(transactionTimeout: number): Promise<Producer> {
    const producer = this.#kafka.producer({
      transactionalId: uniqueName('tx'),
      transactionTimeout,
      idempotent: true,
      maxInFlightRequests: 1,
    })
    await producer.connect()
    this.#producers.push(producer)
    return producer
  }

  async #write(transaction: Open, message: FaultMessage): Promise<number> {
    const messages = [{ key: message.id, value: JSON.stringify(message), partition: 0 }]
    const [written] = await transaction.send({ topic: this.#topic, messages, acks: -1 })
    if (written?.baseOffset === undefined) throw new Error(`kafkajs sent nothing to ${this.#topic}`)
    return Number(written.baseOffset)
  }
}

/** A message that nobody may see. The listeners do not take it for a send. */
function uncommitted({ id }: FaultMessage, how: string): FaultMessage {
  return { id: `${id}-${how}`, send: how, does: 'effect' }
}
