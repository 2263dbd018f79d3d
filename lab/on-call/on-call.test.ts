// Runbooks of docs, walked through on live servers: the situation raises its alert, then what the page prints is typed, as it is printed.
import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { setInterval } from 'node:timers/promises'
import { eventually } from '../../test/kit/eventually.ts'
import { causeIn, samplesIn } from './diagnosis.ts'
import { runbookOf } from './runbook.ts'
import { Clock, Scene } from './scene.ts'

jest.setTimeout(600_000)

/** One of these words on a page is read in a quarter of a second (240 a minute). */
const WORDS_PER_SECOND = 4
/** So that a person can do it at night. */
const MOST_SECONDS = 300

let scene: Scene | undefined
afterEach(async () => {
  await scene?.[Symbol.asyncDispose]()
  scene = undefined
}, 60_000)

const names = (count: number, prefix = 'm'): readonly string[] =>
  Array.from({ length: count }, (_, at) => `${prefix}-${String(at).padStart(4, '0')}`)

/** Reading and waiting together, told for the record. */
function tell(what: string, { words, lines, commands }: ReturnType<typeof runbookOf>, waited: number): number {
  const all = waited + Math.round(words / WORDS_PER_SECOND)
  console.log(
    `${what}: ${waited} s from the alert to its end, and ${words} words in ${lines} lines read: ${all} s; ${commands.length} commands`,
  )
  return all
}

describe('the person on call', () => {
  it('ends a held partition', async () => {
    scene = await Scene.open('offsets')
    await scene.deploy()
    await scene.send(names(5, 'old'))
    await eventually(async () => (await scene?.effects())?.length === 5)
    await scene.cluster.admin.deleteTopics({ topics: ['sms'] })
    await scene.makeTopic()
    await scene.send(names(8, 'new'))
    await scene.untilFiring('ConsumeOncePartitionsHeld')

    const clock = new Clock()
    const runbook = runbookOf('A partition is held')
    const [list = '', release = ''] = runbook.commands
    expect(await scene.type(list)).toContain('sms/0')
    expect(await scene.type(release)).not.toContain('CONFIG')
    await eventually(async () => (await scene?.effects())?.length === 13)
    await scene.untilOver('ConsumeOncePartitionsHeld')
    expect(tell('held partition', runbook, clock.seconds)).toBeLessThan(MOST_SECONDS)
    expect(await scene.effects()).toEqual([...names(8, 'new'), ...names(5, 'old')])
  })

  it('ends a deploy since which everything fails', async () => {
    scene = await Scene.open('inbox')
    await scene.deploy()
    await scene.send(names(10, 'before'))
    await eventually(async () => (await scene?.effects())?.length === 10)
    await scene.deploy({ isBroken: true })
    await scene.send(names(500))
    await scene.untilFiring('ConsumeOnceHolding')

    const clock = new Clock()
    const runbook = runbookOf('When nothing comes through, it holds')
    const [health = '', look = '', redrive = '', left = ''] = runbook.commands
    expect(await scene.type(health)).toContain("reading 'to'")
    await scene.deploy()
    expect(await scene.type(look)).toContain('to redrive')
    await scene.type(redrive)
    await eventually(async () => (await scene?.effects())?.length === 510, 120_000)
    expect(await scene.type(left)).not.toMatch(/handler-failed/)
    await scene.untilOver('ConsumeOnceHolding')
    expect(tell('everything fails since the deploy', runbook, clock.seconds)).toBeLessThan(MOST_SECONDS)
    expect(await scene.effects()).toEqual([...names(10, 'before'), ...names(500)])
  })

  it('finds why a backlog grows, and ends it', async () => {
    scene = await Scene.open('inbox', { partitions: 3, secondsAMinute: 5 })
    const version = { handlerMs: 200, settings: { transactions: 4 } }
    await scene.deploy(version)
    const arriving = new Arriving(scene, 60)
    await scene.untilFiring('ConsumeOnceBacklogGrows')

    const clock = new Clock()
    const runbook = runbookOf('The backlog grows')
    const [health = '', ...read] = await scene.typed(runbook.commands)
    expect(read).toHaveLength(4)
    expect(causeIn(health, read.map(samplesIn))).toBe('handler')
    await scene.deploy({ ...version, settings: { transactions: 32 } })
    await scene.untilOver('ConsumeOnceBacklogGrows')
    expect(tell('the backlog grows', runbook, clock.seconds)).toBeLessThan(MOST_SECONDS)
    const sent = await arriving.stop()
    await eventually(async () => (await scene?.effects())?.length === sent.length, 120_000)
    expect(await scene.effects()).toEqual(sent)
  })

  it('renames a consumer and its group, and no effect is repeated', async () => {
    scene = await Scene.open('inbox')
    await scene.deploy()
    await scene.send(names(10, 'before'))
    await eventually(async () => (await scene?.effects())?.length === 10)
    await scene.untilHeard('sms-sender')

    const clock = new Clock()
    const runbook = runbookOf('Rename a consumer')
    expect(runbook.text).toContain(`scope: { name: 'sms-sender', group: 'sms' }`)
    const renamed = { name: 'texts', group: 'texts', settings: { scope: { name: 'sms-sender', group: 'sms' } } }
    scene.prepare(renamed)
    const [plan = ''] = await scene.typed(runbook.commands)
    expect(plan).toMatch(/^done +10 /m)
    expect(plan).not.toMatch(/^(?:unknown|fresh) /m)
    await scene.deploy(renamed)
    // The new group has committed nothing, so all of the topic comes again.
    await scene.send(names(5, 'since'))
    await scene.cluster.untilCommitted('texts', 'sms', [15])
    expect(tell('renamed consumer', runbook, clock.seconds)).toBeLessThan(MOST_SECONDS)
    expect(await scene.effects()).toEqual([...names(10, 'before'), ...names(5, 'since')])
    await scene.untilFiring('ConsumeOnceNoProcess')
  })
})

/** So many messages a second, until it is stopped. */
class Arriving {
  readonly #end = new AbortController()
  readonly #sent: string[] = []
  readonly #ended: Promise<void>

  constructor(on: Scene, perSecond: number) {
    this.#ended = this.#send(on, perSecond)
    // A test that failed may have left it running.
    this.#ended.catch(() => {})
  }

  async #send(on: Scene, perSecond: number): Promise<void> {
    for await (const _ of setInterval(1_000)) {
      if (this.#end.signal.aborted) return
      const some = names(perSecond, `m-${String(this.#sent.length).padStart(6, '0')}`)
      await on.send(some)
      this.#sent.push(...some)
    }
  }

  /** @returns all that were sent, in the order of their names */
  async stop(): Promise<readonly string[]> {
    this.#end.abort()
    await this.#ended
    return this.#sent
  }
}
