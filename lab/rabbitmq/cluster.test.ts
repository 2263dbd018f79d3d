import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import { connect, type ChannelModel } from 'amqplib'
import { confirmedPublisher, runRabbit, type RabbitConnect } from '../../adapters/amqplib/index.ts'
import { adminOf, defineConsumer, messageId, type Consumer, type Running } from '../../src/index.ts'
import { backends } from '../../test/kit/backends.ts'
import { eventually, untilResolved } from '../../test/kit/eventually.ts'
import { Watching } from '../../test/kit/recording-intake.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { startPrivateRabbitCluster, type PrivateRabbitCluster } from '../../test/kit/servers/private-rabbit-cluster.ts'
import { server } from '../../test/kit/servers/server.ts'
import { newPlace, type PgPlace } from '../../test/pg/support.ts'
import { Rabbit } from '../../test/rabbitmq/rabbit.ts'
import { Gate } from '../../test/rabbitmq/watching.ts'
import { redisHarness, type RedisHarness } from '../../test/redis/harness.ts'

// Each takes 5 to 18 s alone. While 30 processes want two cores `rabbitmqctl` takes 24 s instead of 1, and a test took 61.
jest.setTimeout(300_000)

/** Seconds until nodes that do not answer are given up; only then is another leader elected. The broker's default is 60. */
const CONF = 'net_ticktime = 10'

const isWanted = backends.has('rabbitmq')
let cluster: PrivateRabbitCluster
let redis: RedisHarness
let place: PgPlace
const opened: Traffic[] = []

beforeAllOpen(async (own) => {
  if (!isWanted) return
  redis = own(await redisHarness((await server('redis')).url))
  place = own(await newPlace())
  cluster = own(await startPrivateRabbitCluster({ conf: CONF }))
})
afterEach(() => Promise.all(opened.splice(0).map((traffic) => traffic.end())))

type Strategy = 'lease' | 'inbox'
type Node = 0 | 1 | 2

/** Dials this node, and the next ones while it does not answer. */
function startingAt(first: Node): () => Promise<ChannelModel> {
  const inTurn = [...cluster.nodes.slice(first), ...cluster.nodes.slice(0, first)]
  return async () => {
    const errors: unknown[] = []
    for (const { url } of inTurn) {
      try {
        return await connect(`${url}?heartbeat=2`, { timeout: 3_000 })
      } catch (error) {
        errors.push(error)
      }
    }
    throw new AggregateError(errors, 'no node answers')
  }
}

interface Member {
  readonly consumer: Consumer
  readonly running: Running
  readonly watching: Watching
}

interface Ending {
  /** Confirmed, without an effect. */
  readonly missing: readonly string[]
  readonly repeated: readonly string[]
  /** In the queue. */
  readonly left: number
  readonly deadLetters: number
  /** Records in progress, in doubt, given up or parked. */
  readonly unfinished: number
  readonly told: readonly string[]
}

const EACH_ONCE: Ending = { missing: [], repeated: [], left: 0, deadLetters: 0, unfinished: 0, told: [] }

const PRODUCERS = 3
const EVERY_MS = 30

/** Consumers of one queue that is on all nodes and led by the first, and producers that go on until `ending`. */
class Traffic {
  readonly queue: string
  readonly members: Member[] = []
  /** IDs of messages. */
  readonly #confirmed: string[] = []
  readonly #outside: string[] = []
  readonly #strategy: Strategy
  readonly #mayGoOn = new Gate()
  readonly #drains = new AbortController()
  #publishing: Promise<unknown> = Promise.resolve()

  private constructor(queue: string, strategy: Strategy) {
    this.queue = queue
    this.#strategy = strategy
  }

  /** Resolves when each of the consumers has begun a handler, which waits for `letGo`. */
  static async start(
    strategy: Strategy,
    consumers: readonly RabbitConnect[],
    producers: RabbitConnect,
  ): Promise<Traffic> {
    await using rabbit = await Rabbit.open(cluster.nodes[0].url)
    const traffic = new Traffic(uniqueName('cluster'), strategy)
    opened.push(traffic)
    await rabbit.declare(traffic.queue)
    if ((await leaderOf(traffic.queue, 0)) !== cluster.nodes[0].node) throw new Error('another node leads the queue')
    const begun: Gate[] = []
    for (const to of consumers) begun.push(await traffic.#consume(to))
    traffic.#publishing = traffic.#publish(producers)
    await Promise.all(begun.map(({ opened: hasBegun }) => hasBegun))
    return traffic
  }

  letGo(): void {
    this.#mayGoOn.open()
  }

  /** Resolves when so many messages that were published after the call have been confirmed. */
  async untilConfirmed(more: number): Promise<void> {
    const enough = this.#confirmed.length + PRODUCERS + more
    await eventually(() => this.#confirmed.length >= enough)
  }

  /** Each consumer is ready, and handles messages again. */
  async untilRecovered(): Promise<void> {
    const before = this.members.map(({ watching }) => watching.ended('handled'))
    await eventually(() => this.members.every(({ running }) => running.health().ready))
    await eventually(() => this.members.every(({ watching }, at) => watching.ended('handled') > (before[at] ?? 0)))
  }

  /** Resolves when each confirmed message has had an effect and the consumers have stopped. */
  async ending(): Promise<Ending> {
    this.#drains.abort()
    await this.#publishing
    const missing = async (): Promise<readonly string[]> => {
      const effects = new Set(await this.#effects())
      return this.#confirmed.filter((id) => !effects.has(id))
    }
    await eventually(async () => (await missing()).length === 0)
    await Promise.all(this.members.map(({ running }) => running.stop()))
    const effects = await this.#effects()
    await using rabbit = await Rabbit.open(cluster.nodes[2].url)
    const counts = await Promise.all(
      this.members.map(({ consumer }) => adminOf(consumer, { group: this.queue, origins: [this.queue] }).stats()),
    )
    const told = ['in-doubt', 'lease-lost', 'invariant-broken']
    return {
      missing: await missing(),
      repeated: effects.filter((id, at) => effects.indexOf(id) !== at),
      left: (await rabbit.takeLeft(this.queue)).length,
      deadLetters: (await rabbit.takeLeft(`${this.queue}.dead-letter`)).length,
      unfinished: counts.flatMap((states) => Object.values(states)).reduce((sum, { count }) => sum + count, 0),
      told: told.filter((name) => this.members.some(({ watching }) => watching.told(name) > 0)),
    }
  }

  async end(): Promise<void> {
    this.letGo()
    this.#drains.abort()
    await this.#publishing
    await Promise.all(this.members.map(({ running }) => running.stop({ deadlineMs: 100 })))
  }

  async #consume(to: RabbitConnect): Promise<Gate> {
    const [watching, begun] = [new Watching(), new Gate()]
    const settings = {
      name: 'cluster',
      id: messageId.property(),
      decode: (value: Uint8Array | null) => Buffer.from(value ?? []).toString(),
      observe: watching.observe,
    }
    const hold = async (): Promise<void> => {
      begun.open()
      await this.#mayGoOn.opened
      await sleep(Math.random() * 20)
    }
    const consumer =
      this.#strategy === 'lease'
        ? defineConsumer<string>({
            ...settings,
            store: await redis.secondStore(),
            handle: async ({ payload }) => {
              await hold()
              this.#outside.push(payload)
            },
          })
        : defineConsumer({
            ...settings,
            store: await place.newInbox(),
            handle: async ({ payload, tx }) => {
              await hold()
              await place.write(tx, payload)
            },
          })
    const running = await runRabbit(to, consumer, { queue: this.queue })
    this.members.push({ consumer, running, watching })
    return begun
  }

  async #publish(to: RabbitConnect): Promise<void> {
    await using publisher = confirmedPublisher(to)
    const lane = async (name: number): Promise<void> => {
      for (let turn = 0; !this.#drains.signal.aborted; turn++) {
        const id = `${this.queue}-${name}-${turn}`
        // Whether a refused one has arrived is unknown: it is sent again, with its ID.
        await untilResolved(() => publisher.publish({ routingKey: this.queue, messageId: id, body: id }), 60_000)
        this.#confirmed.push(id)
        await sleep(EVERY_MS)
      }
    }
    await Promise.all(Array.from({ length: PRODUCERS }, (_, name) => lane(name)))
  }

  async #effects(): Promise<readonly string[]> {
    if (this.#strategy === 'lease') return this.#outside
    const ours = `select name from ${place.schema}.effect where starts_with(name, $1)`
    const { rows } = await place.pool.query<{ name: string }>(ours, [`${this.queue}-`])
    return rows.map(({ name }) => name)
  }
}

/** The node that leads the queue, as this node sees it. */
async function leaderOf(queue: string, asked: Node): Promise<string | undefined> {
  const lines = await cluster.nodes[asked].controlOutput('--silent', 'list_queues', 'name', 'leader')
  const line = lines.split('\n').find((one) => one.startsWith(`${queue}\t`))
  return line?.split('\t')[1]?.trim()
}

describe('a cluster of three nodes', () => {
  it.each<[Strategy, Node, Node]>([
    ['lease', 1, 2], // Both keep their connection.
    ['inbox', 0, 1],
  ])(
    'whose leader of a queue is killed and comes back loses no message and repeats no effect: %s, consumers on nodes %d and %d [T301]',
    async (strategy, one, other) => {
      const traffic = await Traffic.start(strategy, [startingAt(one), startingAt(other)], startingAt(2))
      await cluster.nodes[0].kill()
      await traffic.untilConfirmed(30)
      expect(await leaderOf(traffic.queue, 1)).not.toBe(cluster.nodes[0].node)
      traffic.letGo()
      await traffic.untilRecovered()
      await cluster.nodes[0].restart()
      await traffic.untilConfirmed(30)
      await traffic.untilRecovered()
      expect(await traffic.ending()).toEqual(EACH_ONCE)
    },
  )

  it('of which one stops: a consumer moves to another node, or waits until its only node is back', async () => {
    const [, node] = cluster.nodes
    const traffic = await Traffic.start('lease', [startingAt(1), node.url], startingAt(2))
    const [moves, waits] = traffic.members
    // A machine that is busy misses heartbeats: there may have been others.
    const rebuilt = moves?.watching.told('rebuilt') ?? 0
    await node.control('stop_app')
    await moves?.watching.untilTold('rebuilt', rebuilt + 1)
    await eventually(() => moves?.running.health().ready === true)
    expect(waits?.running.health()).toMatchObject({ live: true, ready: false })
    traffic.letGo()
    await traffic.untilConfirmed(30)
    await node.control('start_app')
    await waits?.watching.untilTold('rebuilt')
    await traffic.untilRecovered()
    expect(await traffic.ending()).toEqual(EACH_ONCE)
  })

  it('of which one freezes that leads the queue and has a consumer: the others go on, no message is lost and no effect repeated', async () => {
    const [node] = cluster.nodes
    const traffic = await Traffic.start('lease', [startingAt(0), startingAt(1)], startingAt(2))
    node.freeze()
    try {
      await traffic.members[0]?.watching.untilTold('rebuilt')
      await traffic.untilConfirmed(30)
      traffic.letGo()
      await traffic.untilRecovered()
    } finally {
      await node.kill()
      await node.restart()
    }
    await traffic.untilConfirmed(30)
    await traffic.untilRecovered()
    expect(await traffic.ending()).toEqual(EACH_ONCE)
  })
})
