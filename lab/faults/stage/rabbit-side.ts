import { Rabbit, type Taken } from '../../../test/rabbitmq/rabbit.ts'
import type { FaultMessage } from '../message.ts'
import type { BrokerPlace, BrokerSide, DeadLetter } from './broker-side.ts'

/** A broker closes the connection of a frozen worker after two or three missed heartbeats. */
const HEARTBEAT_SECONDS = 1

export async function rabbitSide(url: string): Promise<BrokerSide> {
  const rabbit = await Rabbit.open(url)
  const through = (port: number): string => {
    const proxied = new URL(url)
    proxied.port = String(port)
    proxied.searchParams.set('heartbeat', String(HEARTBEAT_SECONDS))
    return proxied.href
  }
  return {
    version: `RabbitMQ ${rabbit.version}`,
    async newPlace(): Promise<BrokerPlace> {
      const queue = rabbit.name()
      return {
        group: queue,
        origin: queue,
        port: Number(new URL(url).port),
        worker: (port) => ({ kind: 'rabbitmq', url: through(port), options: { queue } }),
        placeOf: (send) => `${queue}#${send}`,
      }
    },
    send: ({ origin }, message: FaultMessage) =>
      rabbit.send(origin, [JSON.stringify(message)], {
        messageId: message.send,
        timestamp: Math.floor(Date.now() / 1_000),
        mandatory: true,
      }),
    async isDrained({ origin, placeOf }, sent, recorder) {
      const places = Array.from({ length: sent }, (_, send) => placeOf(send))
      return recorder.areAcked(places) && (await rabbit.ready(origin)) === 0
    },
    async left({ origin, placeOf }, _sent, hasDeadLetters) {
      await rabbit.untilUnread(origin)
      const unsettled = (await rabbit.takeLeft(origin)).map((taken) => placeOf(Number(sendOf(taken).split('#').at(-1))))
      await rabbit.delete(origin)
      if (!hasDeadLetters) return { unsettled, deadLetters: [] }
      const deadLetters = (await rabbit.takeLeft(`${origin}.dead-letter`)).map(deadLetterOf)
      return { unsettled, deadLetters }
    },
    [Symbol.asyncDispose]: () => rabbit[Symbol.asyncDispose](),
  }
}

function sendOf({ properties }: Taken): string {
  return String(properties.messageId)
}

function deadLetterOf(taken: Taken): DeadLetter {
  const headers = taken.properties.headers ?? {}
  const reason = String(headers['consume-once-reason'])
  return { send: sendOf(taken), isParked: headers['consume-once-parked'] === true, reason }
}
