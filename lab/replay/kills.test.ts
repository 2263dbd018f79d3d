// The tool is killed at each step of a replay and of a redrive, and started again, until it is finished.
import { describe, expect, it, jest } from '@jest/globals'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import type { CliRun } from '../../test/kit/cli-process.ts'
import { compiled } from '../../test/kit/compiled.ts'
import { eventually } from '../../test/kit/eventually.ts'
import { Incident, sms, type BrokerName, type StoreName } from '../../test/replay/incident.ts'
import { countedOf, expectAccounted, judgedOf, planned, WHY, wrongIn, type Judged } from './judge.ts'
import type { Kill, Step } from './killed.config.ts'

jest.setTimeout(240_000)

const COUNT = 60
const IDS = sms(COUNT).map(({ id }) => id)
/** A step, and at the how manieth call; of `time` the milliseconds. */
type At = readonly [Step, number]
const RUN: readonly At[] = [
  ['ledger', 1],
  ['journal', 1],
  ['ledger', 2],
  ['time', 300],
  ['journal', 2],
]
const AGAIN: readonly At[] = [
  ['forget', 1],
  ['journal', 1],
  ['forget', 7],
  ['time', 300],
  ['ledger', 2],
]
const REDRIVE: readonly At[] = [
  ['ledger', 1],
  ['reopen', 1],
  ['publish', 1],
  ['time', 300],
  ['publish', 2],
]
const SETTLES: readonly At[] = [
  ['settle', 1],
  ['settle', 9],
]

const PAIRS: readonly (readonly [BrokerName, StoreName])[] = [
  ['kafka', 'postgres'],
  ['kafka', 'redis'],
  ['rabbitmq', 'redis'],
]

/** Each step, before and after it. */
function killsAt(steps: readonly At[], broker: BrokerName): readonly Kill[] {
  const all = broker === 'rabbitmq' ? [...steps, ...SETTLES] : steps
  return all.flatMap(([step, nth]): Kill[] => [
    { step, nth, when: 'before' },
    { step, nth, when: 'after' },
  ])
}

class Killed {
  readonly incident: Incident
  kills = 0

  constructor(incident: Incident) {
    this.incident = incident
  }

  /** Runs the tool until it is killed at its step, or ends by itself. */
  async run(args: readonly string[], kill: Partial<Kill> = {}): Promise<CliRun> {
    const env = {
      ...this.incident.env({ maxAttempts: 50, slowMs: 3 }),
      CONSUME_ONCE_CONFIG: compiled('lab/replay/killed.config.ts'),
      TEST_KILL: JSON.stringify(kill),
    }
    const run = await this.incident.cli.run([...args, ...WHY], { env, cwd: this.incident.cli.dir, asProcess: true })
    if (run.exitCode === null) {
      this.kills++
      await this.#endHolds()
    } else if (run.exitCode > 1 && !run.stderr.includes('is finished since'))
      throw new Error(`exit code ${run.exitCode}: ${run.stdout}\n${run.stderr}`)
    return run
  }

  /** As if the time of the hold of a dead process had passed. */
  async #endHolds(): Promise<void> {
    const { store } = this.incident.settings
    if ('postgres' in store) {
      const pool = new Pool({ connectionString: store.postgres, max: 1 })
      await pool.query(`update ${store.schema}.replay set held_until = now() - interval '1 second'`)
      return pool.end()
    }
    const redis = new Redis(store.redis)
    for (const key of await redis.keys(`${store.prefix}:replays:*}:*`)) await redis.hset(key, 'until', '0')
    redis.disconnect()
  }

  /** Killed and resumed until it is over. */
  async untilOver(planArgs: readonly string[], kills: readonly Kill[]): Promise<Judged> {
    const { incident } = this
    const words = ['replay', 'run', await planned(incident, planArgs), '--concurrency', '4', '--rate', '40']
    let isOver = false
    for (const kill of [...kills, {}]) isOver ||= (await this.run(words, kill)).exitCode !== null
    return judgedOf(incident)
  }
}

describe.each(PAIRS)('on %s and %s', (broker, store) => {
  it('a run: nothing is lost, nothing happens twice, each message is accounted for once', async () => {
    await using incident = await Incident.on(broker, store)
    const killed = new Killed(incident)
    await incident.send(sms(1, 'first'))
    await incident.live(incident.hasEffects(1))
    await incident.send(sms(COUNT))
    const judged = await killed.untilOver([], killsAt(RUN, broker))
    expectAccounted(judged)
    expect(wrongIn(judged, IDS)).toEqual({ more: 0, fewer: 0 })
    expect(store === 'postgres' ? judged.status?.totals.left : 0).toBe(0)
    expect(killed.kills).toBeGreaterThanOrEqual(RUN.length)
  })

  it('a run of what is done, on purpose: each happens once more, not twice', async () => {
    await using incident = await Incident.on(broker, store)
    const killed = new Killed(incident)
    await incident.send(sms(COUNT))
    await incident.live(incident.hasEffects(COUNT))
    if (broker === 'rabbitmq') await incident.send(sms(COUNT))
    const judged = await killed.untilOver(['--again'], killsAt(AGAIN, broker))
    expectAccounted(judged)
    expect(wrongIn(judged, IDS, 2)).toEqual({ more: 0, fewer: 0 })
    expect(store === 'postgres' ? judged.status?.totals.left : 0).toBe(0)
    expect(killed.kills).toBeGreaterThanOrEqual(AGAIN.length)
  })

  it('a redrive, while the consumer runs: each message has its effect once', async () => {
    await using incident = await Incident.on(broker, store)
    const killed = new Killed(incident)
    await incident.send(sms(COUNT, 'm', 'globex'))
    await incident.live(async () => (await incident.deadLetters()) === COUNT, { bugFor: 'globex' })
    await using live = await incident.start({ maxAttempts: 50 })
    for (const kill of killsAt(REDRIVE, broker)) await killed.run(['redrive', 'sms', '--rate', '20'], kill)
    await eventually(async () => {
      if ((await incident.effects()).length >= COUNT) return true
      await killed.run(['redrive', 'sms'])
      return false
    })
    await live.stop()
    const counts = await countedOf(incident)
    expect([counts.size, [...counts.values()].filter((count) => count > 1)]).toEqual([COUNT, []])
    expect(killed.kills).toBeGreaterThan(2)
  })
})
