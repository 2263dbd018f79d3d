// A broker or a store restarts in the middle of a replay or a redrive. The operator repeats it until it is over.
import { describe, expect, it, jest } from '@jest/globals'
import { eventually, untilResolved } from '../../test/kit/eventually.ts'
import type { PrivateInstance } from '../../test/kit/servers/private-instance.ts'
import { startPrivateKafka } from '../../test/kit/servers/private-kafka.ts'
import { startPrivatePostgres } from '../../test/kit/servers/private-postgres.ts'
import { startPrivateRabbit } from '../../test/kit/servers/private-rabbit.ts'
import { startPrivateRedis } from '../../test/kit/servers/private-redis.ts'
import { SERVER_WITHIN_MS } from '../../test/kit/servers/server.ts'
import { Incident, sms } from '../../test/replay/incident.ts'
import { countedOf, expectAccounted, judgedOf, planned, WHY, wrongIn } from './judge.ts'

jest.setTimeout(SERVER_WITHIN_MS)

const COUNT = 200
const IDS = sms(COUNT).map(({ id }) => id)
const DONE_WITHIN_MS = 180_000

class Outages implements AsyncDisposable {
  readonly incident: Incident
  readonly #servers: readonly PrivateInstance[]

  private constructor(incident: Incident, servers: readonly PrivateInstance[]) {
    this.incident = incident
    this.#servers = servers
  }

  static async onKafkaAndPostgres(): Promise<Outages> {
    const [kafka, postgres] = await Promise.all([startPrivateKafka(), startPrivatePostgres()])
    const addresses = { brokers: kafka.brokers, postgres: postgres.url }
    return new Outages(await Incident.on('kafka', 'postgres', addresses), [kafka, postgres])
  }

  static async onRabbitAndRedis(): Promise<Outages> {
    const [rabbit, redis] = await Promise.all([startPrivateRabbit(), startPrivateRedis()])
    const addresses = { rabbitmq: rabbit.url, redis: redis.url }
    return new Outages(await Incident.on('rabbitmq', 'redis', addresses), [rabbit, redis])
  }

  /** Runs the tool again and again until it ends well, while one server after the other is killed and comes back. */
  async during(words: readonly string[], isOver: () => Promise<boolean> = async () => true): Promise<void> {
    await Promise.all([this.#untilDone(words, isOver), this.#harm()])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.incident[Symbol.asyncDispose]()
    await Promise.all(this.#servers.map((server) => server.stop()))
  }

  /** A message that failed while the store was down leaves its hold behind, which expires. */
  async #untilDone(words: readonly string[], isOver: () => Promise<boolean>): Promise<void> {
    const deadline = performance.now() + DONE_WITHIN_MS
    for (;;) {
      const { exitCode, stderr } = await this.incident.run([...words, ...WHY], { maxAttempts: 50, slowMs: 3 })
      if ((exitCode === 0 || exitCode === 1) && (await untilResolved(isOver))) return
      if (performance.now() > deadline) throw new Error(`exit code ${String(exitCode)}: ${stderr}`)
    }
  }

  async #harm(): Promise<void> {
    // A connection from before a restart is found out by the first that uses it.
    const effects = async (): Promise<number> => (await untilResolved(() => this.incident.effects())).length
    await eventually(async () => (await effects()) >= 20, DONE_WITHIN_MS)
    for (const server of this.#servers) {
      await server.kill()
      await server.restart()
      const wanted = Math.min(COUNT, (await effects()) + 20)
      // The tool goes on once the hold of the run that failed has ended.
      await eventually(async () => (await effects()) >= wanted, DONE_WITHIN_MS)
    }
  }
}

describe.each([
  ['Kafka and Postgres', () => Outages.onKafkaAndPostgres()],
  ['RabbitMQ and Redis', () => Outages.onRabbitAndRedis()],
])('both servers restart, on %s', (_, open) => {
  it('a run: nothing is lost, nothing happens twice, each message is accounted for once', async () => {
    await using outages = await open()
    const { incident } = outages
    await incident.send(sms(1, 'first'))
    await incident.live(incident.hasEffects(1))
    await incident.send(sms(COUNT))
    await outages.during(['replay', 'run', await planned(incident), '--concurrency', '4', '--rate', '40'])
    const judged = await judgedOf(incident)
    expectAccounted(judged)
    expect(wrongIn(judged, IDS)).toEqual({ more: 0, fewer: 0 })
  })

  it('a redrive, while the consumer runs: each message has its effect once', async () => {
    await using outages = await open()
    const { incident } = outages
    await incident.send(sms(COUNT, 'm', 'globex'))
    await incident.live(async () => (await incident.deadLetters()) === COUNT, { bugFor: 'globex' })
    await using live = await incident.start({ maxAttempts: 50 })
    // A quorum queue that has just restarted still counts what a dead reader held as taken: a redrive finds nothing then.
    await outages.during(['redrive', 'sms', '--rate', '40'], async () => (await countedOf(incident)).size === COUNT)
    await live.stop()
    const counts = await countedOf(incident)
    expect([counts.size, [...counts.values()].filter((count) => count > 1)]).toEqual([COUNT, []])
  })
})
