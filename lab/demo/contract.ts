import { describe, expect, it, jest } from '@jest/globals'
import { backends } from '../../test/kit/backends.ts'
import { DemoProcess, idsOf, readLines } from './demo-process.ts'

const SMS = 'examples/data/sms-notifications.ndjson'
const ODD = 'examples/data/odd-cases.ndjson'
jest.setTimeout(300_000)

/** Handler slots of the demo: what a crash may leave in doubt, or repeat, under a lease. */
const SLOTS = 64

const STEPS = ['claimed', 'handled', 'marked', 'settled'] as const

type Source = 'memory' | 'kafka' | 'rabbitmq'
type Store = 'pglite' | 'postgres' | 'redis'

/** Lines that are more than any kill here lets through. */
const SOME = 1_000

/** With which store each source meets odd input, and is killed at every step; with the others at one. */
const TRIED_WITH: Readonly<Record<Source, Store>> = { memory: 'pglite', kafka: 'postgres', rabbitmq: 'redis' }

/**
 * The demo's contract on one source, with each of these stores: files of their own, so that they run beside each other. The
 * embedded store, the slowest, meets faults with the embedded source only, and the whole example in embedded.test.ts only: what it
 * and a broker are to each other, a part of it shows. lab/faults shows the outcome of a kill at each step on every store.
 */
export function describeDemo(source: Source, stores: readonly Store[]): void {
  for (const store of stores) {
    if (backends.has(source) && backends.has(store))
      describe(`demo, ${source} and ${store}`, () => {
        if (store !== 'pglite' || source !== 'memory') describeExample(source, store)
        if (store === TRIED_WITH[source]) describeOddInput(source, store)
        if (store !== 'pglite' || source === 'memory') describeKills(source, store)
      })
    else
      it(`demo, ${source} and ${store}: left out by BACKENDS`, () =>
        expect(backends.has(source) && backends.has(store)).toBe(false))
  }
}

function line(id: string, payload: string): string {
  return JSON.stringify({ headers: ['message-id', id], key: 'k', payload })
}

function describeExample(source: Source, store: Store): void {
  const isPart = store === 'pglite'
  it(`handles ${isPart ? 'a part of ' : ''}the example once each, and nothing again`, async () => {
    await using demo = new DemoProcess({ hasPglite: isPart })
    const lines = readLines(SMS).slice(0, isPart ? 2 * SOME : undefined)
    const input = isPart ? ['--input', demo.input('part.ndjson', lines)] : []
    const args = ['--source', source, '--store', store, ...input]
    const distinct = idsOf(lines).size
    const first = await demo.figures(args)
    expect(first).toMatchObject({
      source,
      store,
      distinct,
      handled: distinct,
      lost: 0,
      double_effects: 0,
      exitCode: 0,
    })
    const again = await demo.figures(args)
    expect(again).toMatchObject({ handled: 0, lost: 0, double_effects: 0, resumed: true, exitCode: 0 })
  })
}

function describeOddInput(source: Source, store: Store): void {
  const place = ['--source', source, '--store', store]

  // embedded.test.ts has more of it.
  if (source !== 'memory')
    it('reads its dead letters back, one for each delivery that has no usable ID or another payload', async () => {
      await using demo = new DemoProcess({ hasPglite: store === 'pglite' })
      const figures = await demo.figures([...place, '--input', ODD, '--effects', demo.path('effects')])
      expect(figures).toMatchObject({ distinct: 36, handled: 36, no_id: 10, lost: 0, double_effects: 0, exitCode: 0 })
      const deadLetters = demo.rows(`${demo.state}/dead-letters.ndjson`)
      expect(deadLetters).toHaveLength(figures['dead_lettered'] ?? -1)
      expect(deadLetters.filter(({ reason }) => reason === 'conflict')).toHaveLength(figures['conflicts'] ?? -1)
      expect(new Set(demo.rows(demo.path('effects')).map(({ id }) => id)).size).toBe(36)
    })

  it('tells IDs apart by their bytes, and takes a message that is large', async () => {
    await using demo = new DemoProcess({ hasPglite: store === 'pglite' })
    const lines = [line('a\uFFFD', 'x'), line('a\uFFFD\uFFFD', 'x'), line('ø', 'x'), line('big', 'y'.repeat(700_000))]
    const figures = await demo.figures([...place, '--input', demo.input('i', lines)])
    expect(figures).toMatchObject({ distinct: 4, handled: 4, no_id: 0, lost: 0, double_effects: 0, exitCode: 0 })
  })
}

function describeKills(source: Source, store: Store): void {
  const place = ['--source', source, '--store', store]

  it.each(store === TRIED_WITH[source] ? STEPS : (['handled'] as const))(
    'killed at %s, loses nothing and has no effect twice [T51]',
    async (step) => {
      await using demo = new DemoProcess({ hasPglite: store === 'pglite' })
      const input = demo.input('input.ndjson', readLines(SMS).slice(0, SOME))
      const args = [...place, '--input', input]
      const killed = await demo.run([...args, '--state', demo.state, '--json', '--kill-at', `${step}:400`])
      expect(killed).toMatchObject({ signal: 'SIGKILL', stdout: '' })
      const policy = store === 'redis' ? ['--on-in-doubt', 'park'] : []
      const next = await demo.figures([...args, ...policy])
      expect(next).toMatchObject({ lost: 0, double_effects: 0, resumed: true, exitCode: 0 })
      expect(next['in_doubt']).toBeLessThanOrEqual(store === 'redis' ? SLOTS : 0)
      const deadLetters = demo.rows(`${demo.state}/dead-letters.ndjson`)
      expect(deadLetters.every(({ reason }) => reason === 'in-doubt')).toBe(true)
      expect(new Set(deadLetters.map(({ id }) => id)).size).toBe(next['in_doubt'])
    },
  )

  if (store !== 'redis') return
  it('killed, runs again what is in doubt: repeats at most what the handler slots held, counts it, and loses nothing [T20]', async () => {
    await using demo = new DemoProcess()
    const args = [...place, '--input', demo.input('i', readLines(SMS).slice(0, SOME))]
    const killed = await demo.run([...args, '--state', demo.state, '--kill-at', 'handled:400'])
    expect(killed.signal).toBe('SIGKILL')
    const next = await demo.figures([...args, '--on-in-doubt', 'rerun'])
    expect(next['lost']).toBe(0)
    expect(next['double_effects']).toBeLessThanOrEqual(SLOTS)
    expect(next.exitCode).toBe((next['double_effects'] ?? 0) > 0 ? 1 : 0)
  })
}
