import type { Durability } from '../calls/durability.ts'
import type { RedisPort } from '../clients/redis-port.ts'
import { evicts, factsOf, whyNoFsync, type ServerFacts } from './server-facts.ts'

/**
 * Returns why the servers cannot keep the promises of the options; empty if they can. Warns of servers that evict
 * marks.
 */
export async function checkServers(redis: RedisPort, durability: Durability): Promise<readonly string[]> {
  const servers = await Promise.all((await redis.nodes()).map(factsOf))
  for (const { info } of servers) {
    if (info === undefined || !evicts(info)) continue
    const policy = info.get('maxmemory_policy')
    const text = `Redis drops keys when it is full (maxmemory-policy ${policy}): what is marked may then run again. Set noeviction`
    process.emitWarning(text, { code: 'CONSUME_ONCE_REDIS_EVICTION' })
    break
  }
  return servers.flatMap((server) => problemsOf(server, redis.isCluster, durability))
}

function problemsOf(server: ServerFacts, isCluster: boolean, durability: Durability): readonly string[] {
  const problems: string[] = []
  if (!isCluster && server.info?.get('cluster_enabled') === '1') {
    problems.push('redis: expected the client of a cluster, since this server is a node of one; got that of one server')
  }
  const why = durability.kind === 'fsync' ? whyNoFsync(server) : undefined
  if (why !== undefined) problems.push(`durability: 'fsync' cannot be kept by ${server.name}: ${why}`)
  return problems
}
