import { freePort } from './ports.ts'
import type { PrivateInstance } from './private-instance.ts'
import { needInstalled } from './programs.ts'
import { nodeName, startMapper, startNode, type PrivateRabbit, type PrivateRabbitOptions } from './rabbitmq/node.ts'
import { asOne, startTogether } from './together.ts'

export interface PrivateRabbitCluster extends PrivateInstance {
  /** Each node alone; the methods of the whole act on all of them. */
  readonly nodes: readonly [PrivateRabbit, PrivateRabbit, PrivateRabbit]
}

/** Three nodes of one cluster. Resolves when all are members. */
export async function startPrivateRabbitCluster(options: PrivateRabbitOptions = {}): Promise<PrivateRabbitCluster> {
  const programs = await needInstalled('rabbitmq', options.version)
  const ports = [await freePort(), await freePort(), await freePort()] as const
  const members = ports.map((port, index) => `cluster_formation.classic_config.nodes.${index + 1} = ${nodeName(port)}`)
  const conf = ['cluster_formation.peer_discovery_backend = classic_config', ...members, options.conf ?? ''].join('\n')
  const mapper = await startMapper(programs)
  const started: PrivateRabbit[] = []
  const stop = async (): Promise<void> => {
    await asOne(started).stop()
    await mapper.end()
  }
  const start = (port: number): Promise<PrivateRabbit> => startNode(programs, mapper, port, { ...options, conf })
  try {
    // The others join it. Of nodes that start at the same time two could begin a cluster each.
    const first = await start(ports[0])
    started.push(first)
    const [second, third] = await startTogether([start(ports[1]), start(ports[2])])
    if (second === undefined || third === undefined) throw new Error('expected two more nodes')
    started.push(second, third)
    await first.control('await_online_nodes', String(ports.length))
    return Object.assign(asOne(started), { nodes: [first, second, third] as const, stop, [Symbol.asyncDispose]: stop })
  } catch (error) {
    await stop()
    throw error
  }
}
