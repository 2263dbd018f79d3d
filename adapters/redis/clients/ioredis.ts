import type { RedisNode, RedisPort } from './redis-port.ts'
import { addTo, OneWrite, runAlone } from './one-write.ts'
import type { IoredisLike } from './ioredis-like.ts'

export function ioredisPort(redis: IoredisLike): RedisPort {
  const isCluster = redis.isCluster === true
  const oneWrite = new OneWrite(redis)
  return {
    isCluster,
    isOneLine: !isCluster,
    address: isCluster ? undefined : addressOf(redis.options),
    onError: (listener) => {
      redis.on?.('error', listener)
      return () => void redis.off?.('error', listener)
    },
    // In a cluster the keys may be on several servers.
    run: (call) => (isCluster ? runAlone(redis, call) : oneWrite.run(call)),
    // Written at once. If the connection is lost, ioredis sends a pipeline without any reply again as a whole, and
    // rejects the rest of a pipeline with some replies.
    async runBefore(calls, [command = '', ...words]) {
      const pipeline = redis.pipeline()
      for (const call of calls) addTo(pipeline, call)
      pipeline.call(command, ...words)
      const replies = (await pipeline.exec()) ?? []
      return replies.map(([error, reply]) => {
        if (error !== null) throw error
        return reply
      })
    },
    onReady: (listener) => {
      redis.on?.('ready', listener)
      return () => void redis.off?.('ready', listener)
    },
    nodes: async () =>
      redis.nodes === undefined
        ? [{ name: 'primary', command: commandOf(redis) }]
        : redis
            .nodes('master')
            .map((node) => ({ name: `${node.options.host}:${node.options.port}`, command: commandOf(node) })),
  }
}

function addressOf(options: object = {}): string | undefined {
  const { host, port, path } = options as Readonly<Record<string, unknown>>
  if (typeof path === 'string') return path
  return typeof host === 'string' && typeof port === 'number' ? `${host}:${port}` : undefined
}

function commandOf(redis: Pick<IoredisLike, 'call'>): RedisNode['command'] {
  return ([command = '', ...words]) => redis.call(command, ...words)
}
