import { untilAnswers } from './answers.ts'
import { withRedis } from './clients.ts'
import { freePort } from './ports.ts'
import type { PrivateInstance } from './private-instance.ts'
import { startPrivateRedis, type PrivateRedis, type PrivateRedisOptions } from './private-redis.ts'
import { asOne, startTogether } from './together.ts'

export interface PrivateRedisCluster extends PrivateInstance {
  /** Its three primaries, each with a third of the slots, without replicas. The methods of the whole act on all of them. */
  readonly nodes: readonly PrivateRedis[]
}

const SLOTS = 16_384
const NODES = 3

/** Resolves when every node has agreed that the cluster is whole, also after a restart of all. */
export async function startPrivateRedisCluster(
  options: Omit<PrivateRedisOptions, 'replicaOf'> = {},
): Promise<PrivateRedisCluster> {
  const busPorts = await Promise.all(Array.from({ length: NODES }, freePort))
  const nodes = await startTogether(busPorts.map((port) => startNode(port, options)))
  const cluster: PrivateRedisCluster = Object.assign(asOne(nodes), {
    nodes,
    async restart() {
      await Promise.all(nodes.map((node) => node.restart()))
      await untilWhole(nodes)
    },
  })
  try {
    // A node that knows another one takes no epoch any more.
    await Promise.all(nodes.map(({ url }, index) => giveSlots(url, index)))
    await introduce(nodes, busPorts)
    await untilWhole(nodes)
  } catch (error) {
    await cluster.stop()
    throw error
  }
  return cluster
}

function startNode(busPort: number, { args = [], ...options }: PrivateRedisOptions): Promise<PrivateRedis> {
  const words = ['--cluster-enabled', 'yes', '--cluster-port', String(busPort), '--cluster-node-timeout', '5000']
  return startPrivateRedis({ ...options, args: [...words, ...args] })
}

/** Also an epoch of its own. */
async function giveSlots(url: string, index: number): Promise<void> {
  await withRedis(url, async (redis) => {
    await redis.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1)
    await redis.call('CLUSTER', 'ADDSLOTSRANGE', firstSlotOf(index), firstSlotOf(index + 1) - 1)
  })
}

/** Makes the other nodes known to the first. */
async function introduce([first, ...others]: readonly PrivateRedis[], busPorts: readonly number[]): Promise<void> {
  if (first === undefined) return
  await withRedis(first.url, async (redis) => {
    for (const [index, { port }] of others.entries()) {
      await redis.call('CLUSTER', 'MEET', '127.0.0.1', port, String(busPorts[index + 1]))
    }
  })
}

function firstSlotOf(index: number): number {
  return Math.ceil((index * SLOTS) / NODES)
}

async function untilWhole(nodes: readonly PrivateRedis[]): Promise<void> {
  const agreed = nodes.map((node) => untilAnswers(() => seesAll(node), { withinMs: 20_000, died: () => undefined }))
  await Promise.all(agreed)
}

async function seesAll({ url }: PrivateRedis): Promise<void> {
  const state = String(await withRedis(url, (redis) => redis.call('CLUSTER', 'INFO')))
  for (const fact of ['cluster_state:ok', `cluster_slots_ok:${SLOTS}`, `cluster_size:${NODES}`]) {
    if (!state.includes(`${fact}\r\n`)) throw new Error(`no ${fact} in ${state}`)
  }
}
