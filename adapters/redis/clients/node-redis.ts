import type { RedisNode, RedisPort, ScriptCall } from './redis-port.ts'
import type { ClusterLike, EvalOptions, MultiLike, NodeRedisLike } from './node-redis-like.ts'

export function nodeRedisPort(client: NodeRedisLike): RedisPort {
  // The store needs replies as text, whatever mapping the user has chosen.
  const redis = client.withTypeMapping({}) as NodeRedisLike
  return {
    isCluster: isCluster(redis),
    isOneLine: !isCluster(redis) && !isPool(redis),
    address: addressOf(client),
    onError: (listener) => {
      client.on?.('error', listener)
      return () => void client.off?.('error', listener)
    },
    run: (call) => (call.by === 'sha' ? redis.evalSha(call.script, howOf(call)) : redis.eval(call.script, howOf(call))),
    // If the connection is lost, every command of the chain without a reply is rejected.
    async runBefore(calls, last) {
      const { multi, add } = chainOf(redis)
      for (const call of calls) {
        if (call.by === 'sha') multi.evalSha(call.script, howOf(call))
        else multi.eval(call.script, howOf(call))
      }
      add([...last])
      return multi.execAsPipeline()
    },
    onReady(listener) {
      // A client emits `ready`, each node of a cluster `node-ready`.
      for (const event of ['ready', 'node-ready'] as const) client.on?.(event, listener)
      return () => {
        for (const event of ['ready', 'node-ready'] as const) client.off?.(event, listener)
      }
    },
    nodes: () =>
      isCluster(redis) ? nodesOf(redis) : Promise.resolve([{ name: 'primary', command: commandOf(redis) }]),
  }
}

function addressOf(client: NodeRedisLike): string | undefined {
  const { socket } = ('options' in client ? (client.options ?? {}) : {}) as { readonly socket?: unknown }
  const { host, port, path } = (socket ?? {}) as Readonly<Record<string, unknown>>
  if (typeof path === 'string') return path
  return typeof host === 'string' && typeof port === 'number' ? `${host}:${port}` : undefined
}

function isCluster(redis: NodeRedisLike): redis is ClusterLike {
  return 'masters' in redis
}

function isPool(redis: NodeRedisLike): boolean {
  return 'totalClients' in redis
}

/** Only the scripts have keys. From them the cluster chooses the node for the whole chain. */
function chainOf(redis: NodeRedisLike): { readonly multi: MultiLike; readonly add: (words: string[]) => unknown } {
  if (!isCluster(redis)) {
    const multi = redis.multi()
    return { multi, add: (words) => multi.addCommand(words) }
  }
  const multi = redis.multi()
  return { multi, add: (words) => multi.addCommand(undefined, false, words) }
}

function nodesOf(cluster: ClusterLike): Promise<readonly RedisNode[]> {
  return Promise.all(
    cluster.masters.map(async (master) => ({
      name: master.address,
      command: commandOf(await cluster.nodeClient(master)),
    })),
  )
}

function commandOf(client: { sendCommand(words: string[]): Promise<unknown> }): RedisNode['command'] {
  return (words) => client.sendCommand([...words])
}

function howOf({ keys, words }: ScriptCall): EvalOptions {
  const texts = words.map(String)
  return { keys: texts.slice(0, keys), arguments: texts.slice(keys) }
}
