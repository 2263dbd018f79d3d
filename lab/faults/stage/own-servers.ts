import { startPrivateRedis } from '../../../test/kit/servers/private-redis.ts'
import type { Cell } from '../cell.ts'
import { OwnPostgres } from './own-postgres.ts'
import { RedisSide } from './redis-side.ts'
import type { Stage } from './stage.ts'

type Act<T> = (stage: Stage) => Promise<T>

/** Replaces the servers that the fault hits by private ones. */
export async function withOwnServers<T>({ fault, broker }: Cell, stage: Stage, act: Act<T>): Promise<T> {
  switch (fault.kind) {
    case 'freeze-redis':
    case 'lose-records':
      return withOwnRedis('alone', stage, act)
    case 'promote-redis':
      return withOwnRedis('with a replica', stage, act)
    case 'restart-broker':
    // A shared producer would remember the deleted topic.
    case 'recreate-topic':
      return stage.spares[broker].lend((own) => act({ ...stage, broker: () => own.side, own: { broker: own } }))
    case 'restart-postgres':
      return stage.spares.postgres.lend((own) => act({ ...stage, postgres: own.side, own: { postgres: own } }))
    case 'promote-postgres': {
      await using own = await OwnPostgres.start('with a replica')
      return await act({ ...stage, postgres: own.side, own: { postgres: own } })
    }
    case 'terminate-backends':
    case 'kill':
    case 'freeze':
    case 'lose':
    case 'swallow':
    case 'close-channel':
    case 'delete-topic':
    case 'store-away':
    case 'cut-off-store':
    case 'cut-off-for-good':
    case 'stop':
    case 'stop-when-asked':
    case 'spoil-record':
    case 'refuse-commit':
    case 'rebalance':
    case 'none':
      return act(stage)
  }
}

/** Without persistence: a restart loses all data. */
async function withOwnRedis<T>(replicas: 'alone' | 'with a replica', stage: Stage, act: Act<T>): Promise<T> {
  const args = ['--appendonly', 'no']
  await using primary = await startPrivateRedis({ args })
  await using replica = replicas === 'alone' ? undefined : await startPrivateRedis({ args, replicaOf: primary })
  await using redis = await RedisSide.open(primary.url)
  return await act({ ...stage, redis, own: { redis: { primary, replica } } })
}

export function portOf(url: string): number {
  return Number(new URL(url).port)
}
