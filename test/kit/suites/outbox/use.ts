import { afterEach } from '@jest/globals'
import type { OutboxOptions, QueryLike, SqlOutbox } from '../../../../adapters/sql/outbox/types.ts'
import {
  defineConsumer,
  messageId,
  type ConsumerOptions,
  type HandlerContext,
  type OutgoingMessage,
} from '../../../../src/index.ts'
import type { InboxStore } from '../../../../src/internal.ts'
import { MemoryBroker, runMemory } from '../../../../src/memory/index.ts'
import type { Pausable, Running } from '../../../../src/ports/lifecycle.ts'
import { uniqueName } from '../../namespace.ts'
import { Confirming } from './confirming.ts'

/** One database, with its outbox. */
export interface OutboxRig<Tx> {
  outbox(options: Pick<OutboxOptions, 'publishers'> & Partial<OutboxOptions>): SqlOutbox
  store(outbox: SqlOutbox | undefined): InboxStore<Tx>
  write(tx: Tx, effect: string): Promise<unknown>
  committed(effect: string): Promise<number>
  /** In the outbox. */
  rows(): Promise<number>
  /** All rows were written an hour ago. */
  age(): Promise<unknown>
  /** How many rows were never put off. */
  due(): Promise<number>
  /** Each statement commits by itself. */
  readonly pool: QueryLike
  transaction(): Promise<{ readonly tx: QueryLike; readonly commit: () => Promise<void> }>
}

type Numbered<Tx> = ConsumerOptions<{ n: number }, { n: number }, Tx>

type Context<Tx> = HandlerContext<{ n: number }> & { readonly tx: Tx }

/** What a test does with an outbox. All that it starts is stopped after it. */
export class OutboxUse<Tx> {
  readonly #rig: () => OutboxRig<Tx>
  readonly #running: (Running & Partial<Pausable>)[] = []
  readonly #started: SqlOutbox[] = []

  constructor(rig: () => OutboxRig<Tx>) {
    this.#rig = rig
    afterEach(async () => {
      await Promise.all(this.#running.splice(0).map((one) => one.stop()))
      await Promise.all(this.#started.splice(0).map((one) => one.stop(0)))
    })
  }

  get rig(): OutboxRig<Tx> {
    return this.#rig()
  }

  outbox(kafka: Confirming, options: Partial<OutboxOptions> = {}): SqlOutbox {
    return this.rig.outbox({ publishers: { kafka }, ...options })
  }

  begin(outbox: SqlOutbox): SqlOutbox {
    this.#started.push(outbox)
    outbox.start()
    return outbox
  }

  async commit(outbox: SqlOutbox, messages: OutgoingMessage | readonly OutgoingMessage[]): Promise<void> {
    await outbox.open()
    const { tx, commit } = await this.rig.transaction()
    await outbox.publish(tx, messages)
    await commit()
  }

  /** A consumer on a broker in memory, whose messages are `{ n }`. */
  async consume(
    outbox: SqlOutbox | undefined,
    handling: { readonly handle: (context: Context<Tx>) => unknown },
    more: Partial<Numbered<Tx>> = {},
  ): Promise<{ readonly send: (...numbers: readonly number[]) => void; readonly broker: MemoryBroker }> {
    const broker = new MemoryBroker()
    const consumer = defineConsumer<{ n: number }, { n: number }, Tx>({
      name: uniqueName('charges'),
      id: messageId.header('id'),
      store: this.rig.store(outbox),
      backoff: { initialMs: 1, maxMs: 1 },
      ...handling,
      ...more,
    } as Numbered<Tx>)
    this.#running.push(await runMemory(broker, consumer, { topic: 'orders', group: 'g' }))
    const send = (...numbers: readonly number[]): void => {
      for (const n of numbers) {
        broker.publish('orders', { value: Buffer.from(JSON.stringify({ n })), headers: { id: `order-${n}` } })
      }
    }
    return { send, broker }
  }
}
