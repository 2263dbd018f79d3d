import type { Message, Transaction } from 'kafkajs'
import { uniqueName } from '../kit/namespace.ts'
import type { Cluster } from './kit.ts'

/** Bytes that are also the key of an abort marker. */
export const MARKER_LIKE: Buffer = Buffer.from([0, 0, 0, 0])

/** Producers whose transactions overlap on partition 0 of a topic, and what must become of their messages. */
export class Transactions implements AsyncDisposable {
  readonly committed: string[] = []
  readonly aborted: string[] = []
  readonly #topic: string
  readonly #producers: readonly TransactionalProducer[]

  private constructor(topic: string, producers: readonly TransactionalProducer[]) {
    this.#topic = topic
    this.#producers = producers
  }

  static async open(cluster: Cluster, topic: string, count: number): Promise<Transactions> {
    const producers = await Promise.all(
      Array.from({ length: count }, async () => {
        const producer = cluster.client().producer({
          transactionalId: uniqueName('transaction'),
          idempotent: true,
          maxInFlightRequests: 1,
        })
        await producer.connect()
        return producer
      }),
    )
    return new Transactions(topic, producers)
  }

  /** Begins a transaction of this producer. Send in it, then end it. */
  async begin(producer: number): Promise<OpenTransaction> {
    const transaction = await this.#producers[producer]?.transaction()
    if (transaction === undefined) throw new Error(`there is no producer ${producer}`)
    return new OpenTransaction(this.#topic, transaction, this)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#producers.map((producer) => producer.disconnect()))
  }
}

type TransactionalProducer = ReturnType<ReturnType<Cluster['client']>['producer']>

class OpenTransaction {
  readonly #topic: string
  readonly #transaction: Transaction
  readonly #results: Pick<Transactions, 'committed' | 'aborted'>
  readonly #ids: string[] = []

  constructor(topic: string, transaction: Transaction, results: Pick<Transactions, 'committed' | 'aborted'>) {
    this.#topic = topic
    this.#transaction = transaction
    this.#results = results
  }

  async send(id: string, key: string | Buffer = id): Promise<void> {
    const message: Message = { partition: 0, key, value: JSON.stringify({ id }) }
    await this.#transaction.send({ topic: this.#topic, messages: [message] })
    this.#ids.push(id)
  }

  async end(how: 'commit' | 'abort'): Promise<void> {
    await this.#transaction[how]()
    this.#results[how === 'commit' ? 'committed' : 'aborted'].push(...this.#ids)
  }
}
