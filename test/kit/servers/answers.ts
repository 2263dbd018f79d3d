import { setTimeout as sleep } from 'node:timers/promises'
import type { Endpoint, ServerName } from './catalogue.ts'
import { GIVE_UP_AFTER_MS, withKafka, withMariadb, withPostgres, withRabbit, withRedis } from './clients.ts'

/** Resolves when the server answers in its own protocol; an open port is not enough. Rejects with the reason. */
export async function answers(name: ServerName, endpoint: Endpoint): Promise<void> {
  await inTime(`${name} at ${withoutPassword(endpoint)}`, ASK[name](endpoint))
}

/** The broker is a member of its cluster, so that partitions can be placed on it. */
export async function kafkaNodeJoined(broker: string): Promise<void> {
  const asked = withKafka(broker, async (admin) => {
    const { brokers } = await admin.describeCluster()
    if (!brokers.some(({ host, port }) => `${host}:${port}` === broker)) throw new Error('not a member of the cluster')
    await admin.listTopics()
  })
  await inTime(`kafka at ${broker}`, asked)
}

/** Repeats `check` until it resolves; `died` ends the wait early when no answer can come any more. */
export async function untilAnswers(
  check: () => Promise<void>,
  { withinMs, died }: { readonly withinMs: number; readonly died: () => string | undefined },
): Promise<void> {
  const deadline = performance.now() + withinMs
  for (;;) {
    try {
      return await check()
    } catch (cause) {
      const death = died()
      if (death !== undefined) throw new Error(death, { cause })
      if (performance.now() > deadline) throw new Error(`no answer within ${withinMs} ms`, { cause })
    }
    await sleep(100)
  }
}

export function withoutPassword(endpoint: Endpoint): string {
  return endpoint.replace(/:[^:@/]*@/, ':***@')
}

const ASK: Readonly<Record<ServerName, (endpoint: Endpoint) => Promise<void>>> = {
  async redis(url) {
    await withRedis(url, (redis) => redis.ping())
  },
  async postgres(url) {
    await withPostgres(url, async (client) => {
      const { rows } = await client.query("select has_database_privilege(current_database(), 'create') as usable")
      if (rows[0]?.usable !== true) throw new Error('this user may not create schemas')
    })
  },
  async mariadb(url) {
    await withMariadb(url, (connection) => connection.ping())
  },
  async rabbitmq(url) {
    await withRabbit(url, async (connection) => {
      await connection.createChannel()
    })
  },
  async kafka(brokers) {
    await withKafka(brokers, (admin) => admin.listTopics())
  },
}

/** Bounds what the clients do not: a frozen server takes the connection and says nothing. */
async function inTime(what: string, asked: Promise<void>): Promise<void> {
  const timer = new AbortController()
  const late = sleep(2 * GIVE_UP_AFTER_MS, undefined, { signal: timer.signal }).then(() => {
    throw new Error(`${what}: no answer within ${2 * GIVE_UP_AFTER_MS} ms`)
  })
  try {
    await Promise.race([asked, late])
  } finally {
    timer.abort()
    late.catch(() => {})
    asked.catch(() => {})
  }
}
