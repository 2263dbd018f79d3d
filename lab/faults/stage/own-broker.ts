import { startPrivateKafka } from '../../../test/kit/servers/private-kafka.ts'
import type { PrivateInstance } from '../../../test/kit/servers/private-instance.ts'
import { startPrivateRabbit } from '../../../test/kit/servers/private-rabbit.ts'
import type { BrokerName } from '../cell.ts'
import type { BrokerSide } from './broker-side.ts'
import { kafkaSide } from './kafka-side.ts'
import { rabbitSide } from './rabbit-side.ts'

/** A private broker that a fault can restart. */
export class OwnBroker implements AsyncDisposable {
  readonly #server: PrivateInstance
  readonly #restartServer: () => Promise<void>
  /** After a restart: reopens connections that do not come back by themselves. */
  readonly #sideAgain: () => Promise<BrokerSide>
  readonly #close: () => Promise<void>
  #side: BrokerSide

  private constructor(
    server: PrivateInstance,
    side: BrokerSide,
    how: {
      readonly restart: () => Promise<void>
      readonly sideAgain: () => Promise<BrokerSide>
      readonly close: () => Promise<void>
    },
  ) {
    this.#server = server
    this.#restartServer = how.restart
    this.#side = side
    this.#sideAgain = how.sideAgain
    this.#close = how.close
  }

  static async start(name: BrokerName): Promise<OwnBroker> {
    switch (name) {
      case 'rabbitmq': {
        const server = await startPrivateRabbit()
        // Not by SIGKILL: a quorum queue that was declared right before may have no leader for long.
        const restart = (): Promise<void> => server.control('eval', 'rabbit:stop(), rabbit:start().')
        const open = (): Promise<BrokerSide> => rabbitSide(server.url)
        return new OwnBroker(server, await open(), { restart, sideAgain: open, close: async () => {} })
      }
      case 'kafka': {
        const server = await startPrivateKafka()
        const side = await kafkaSide(server.brokers)
        const restart = async (): Promise<void> => {
          await server.kill()
          await server.restart()
        }
        const close = (): Promise<void> => Promise.resolve(side[Symbol.asyncDispose]())
        return new OwnBroker(server, side, { restart, sideAgain: async () => side, close })
      }
    }
  }

  get side(): BrokerSide {
    return this.#side
  }

  /** Kafka: by SIGKILL. Resolves when it serves again. */
  async restart(): Promise<void> {
    await this.#restartServer()
    this.#side = await this.#sideAgain()
  }

  /** Needs no cleanup: all data ends with the server. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop()
    await this.#close()
  }
}
