import { BrokerError, isConsumeOnceError, refuse, ReplayError, type ReplayPlaces } from '../../../src/internal.ts'
import type { Connector } from '../connection/connector.ts'
import { reasonOf } from '../connection/advice.ts'
import { Link } from '../connection/link.ts'
import { NAME } from '../options/names.ts'
import type { RabbitSettings } from '../options/resolve.ts'
import { asConfigError, checkQueue, consumersOf, declarationOf } from '../topology/questions.ts'
import type { KnownQueue } from './cost.ts'
import { QueueReader } from './queue-reader.ts'
import { publishAgain } from './rescue.ts'
import { RabbitReplayPublisher } from './replay-publisher.ts'

/** The queues of one virtual host, to read again, and its queues and exchanges, to send dead letters back to. */
export function rabbitReplay(connector: Connector, { deadLetter }: RabbitSettings): ReplayPlaces {
  return {
    system: 'rabbitmq',
    deadLetters: deadLetter.kind === 'queue' ? [deadLetter.queue] : [],
    open: (queue) => openQueue(connector, queue),
    publisher: async () => new RabbitReplayPublisher(connector),
  }
}

async function openQueue(connector: Connector, queue: string): Promise<QueueReader> {
  const problems: string[] = []
  NAME.read(queue, { name: 'queue', problems })
  refuse('rabbitmq', problems)
  const link = await Link.open(connector, `consume-once ${queue}, replay`)
  try {
    return new QueueReader(link, await known(link, queue), (messages) => publishAgain(connector, queue, messages))
  } catch (error) {
    await link.close()
    throw asBrokerError(error, connector)
  }
}

async function known(link: Link, name: string): Promise<KnownQueue> {
  await checkQueue(link, name).catch((error: unknown) => {
    throw asConfigError(error, `queue ${name}`, 'Check the name and the virtual host')
  })
  const found = await declarationOf(link, name)
  const declared = typeof found === 'string' ? undefined : found
  const { 'x-queue-type': type, 'x-single-active-consumer': isActiveAlone } = declared?.arguments ?? {}
  if (type === 'stream') {
    throw new ReplayError(
      'REPLAY_REFUSED',
      `queue ${name} is a stream, which is not supported: export the messages to a file and replay that`,
    )
  }
  if (isActiveAlone === true && (await consumersOf(link, name)) > 0) {
    throw new ReplayError(
      'REPLAY_REFUSED',
      `queue ${name} has x-single-active-consumer and a consumer, and nobody else gets its messages: stop its consumers first`,
    )
  }
  return { name, declared, version: link.serverVersion }
}

function asBrokerError(error: unknown, { where }: Connector): unknown {
  if (isConsumeOnceError(error)) return error
  return new BrokerError('BROKER_UNREACHABLE', `RabbitMQ at ${where} cannot be read: ${reasonOf(error)}`, {
    cause: error,
  })
}
