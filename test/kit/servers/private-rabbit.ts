import { freePort } from './ports.ts'
import { needInstalled } from './programs.ts'
import { startMapper, startNode, type PrivateRabbit, type PrivateRabbitOptions } from './rabbitmq/node.ts'

/** A RabbitMQ of its own: node name, port mapper, cookie, data and plug-ins (none) are apart from those of the machine's broker. */
export async function startPrivateRabbit(options: PrivateRabbitOptions = {}): Promise<PrivateRabbit> {
  const programs = await needInstalled('rabbitmq', options.version)
  const mapper = await startMapper(programs)
  return startNode(programs, mapper, await freePort(), options, () => mapper.end())
}
