import { connect, type ChannelModel, type ConfirmChannel } from 'amqplib'
import { uniqueName } from '../../test/kit/namespace.ts'
import type { Servers } from '../machine.ts'
import type { Deliveries } from './duplicates.ts'
import { payloadOf } from './payload.ts'
import type { Places } from './places.ts'
import type { QueuePlan } from './plans.ts'

const UNCONFIRMED = 1_000

/** A queue for each contender: what it consumes is gone. */
export class Queues implements Places {
  readonly #connection: ChannelModel
  readonly #channel: ConfirmChannel
  readonly #plan: QueuePlan
  readonly #queues: string[] = []

  private constructor(connection: ChannelModel, channel: ConfirmChannel, plan: QueuePlan) {
    this.#connection = connection
    this.#channel = channel
    this.#plan = plan
  }

  static async open({ rabbitmq }: Servers, plan: QueuePlan): Promise<Queues> {
    if (rabbitmq === undefined) throw new Error('the scenario must name rabbitmq among what it needs')
    const connection = await connect(rabbitmq)
    return new Queues(connection, await connection.createConfirmChannel(), plan)
  }

  /** Persistent, with the ID as its message ID. */
  async filled({ messages, idOf }: Deliveries): Promise<string> {
    const queue = uniqueName('bench')
    this.#queues.push(queue)
    const { queueType } = this.#plan
    await this.#channel.assertQueue(queue, { durable: true, arguments: { 'x-queue-type': queueType } })
    for (let index = 0; index < messages; index++) {
      const id = idOf(index)
      this.#channel.sendToQueue(queue, Buffer.from(payloadOf(id)), { persistent: true, messageId: `${id}` })
      if (index % UNCONFIRMED === UNCONFIRMED - 1) await this.#channel.waitForConfirms()
    }
    await this.#channel.waitForConfirms()
    return queue
  }

  /** With the places that a contender made for what it cannot handle. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const queue of this.#queues) {
      await this.#channel.deleteQueue(queue)
      await this.#channel.deleteQueue(`${queue}.dead-letter`)
    }
    await this.#connection.close()
  }
}
