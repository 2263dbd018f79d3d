import type { RedisNode, RedisPort } from '../redis-lease/redis-port.ts'
import { addTo, OneWrite, runAlone } from './one-write.ts'
import type { RedisLike } from './redis-like.ts'

export function portOf(redis: RedisLike): RedisPort {
  const isCluster = redis.isCluster === true
  const oneWrite = new OneWrite(redis)
  return {
    isCluster,
    isOneLine: !isCluster,
    // Keys of a cluster may be with several servers.
    run: (call) => (isCluster ? runAlone(redis, call) : oneWrite.run(call)),
    // Written at once. When its connection goes, a pipeline without any reply is sent again as a whole; of one with some
    // replies the rest is rejected.
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

function commandOf(redis: Pick<RedisLike, 'call'>): RedisNode['command'] {
  return ([command = '', ...words]) => redis.call(command, ...words)
}
