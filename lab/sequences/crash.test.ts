import { spawn } from 'node:child_process'
import { once as event } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import type { SequenceOptions } from '../../src/index.ts'
import { backends } from '../../test/kit/backends.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { newFolder } from '../../test/kit/servers/private-instance.ts'
import { bundledProgram } from '../kit/worker/bundled.ts'
import { LEASES_ON, type WorkerStore } from '../kit/worker-stores.ts'
import type { NumberedMessage, SequenceSpec } from './program.ts'

const describeOnBoth = backends.has('postgres') && backends.has('redis') ? describe : describe.skip

/** 3 leaves a gap, 2 fills it and leaves the tail at once. */
const SENT = [1, 3, 2].map((number): NumberedMessage => ({ number, text: 'first' }))
/** A sender of the same name, or one that began again. */
const OTHER: NumberedMessage = { number: 1, text: 'other' }

interface Told {
  readonly outcomes: readonly string[]
  readonly sent: number
}

async function run(spec: SequenceSpec): Promise<Told | 'killed'> {
  const program = bundledProgram(new URL('program.ts', import.meta.url))
  const child = spawn(process.execPath, [program, JSON.stringify(spec)], { stdio: ['ignore', 'pipe', 'inherit'] })
  let told = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    told += text
  })
  const [, signal] = (await event(child, 'close')) as unknown[]
  return signal === 'SIGKILL' ? 'killed' : (JSON.parse(told) as Told)
}

/** A process dies after its nth command; all is delivered again, twice, then a message of the other sender comes. */
async function life(store: WorkerStore, options: SequenceOptions, diesAfter: number) {
  const file = join(newFolder('sequences'), 'effects')
  writeFileSync(file, '')
  const spec = { store: store.spec, options, file, group: uniqueName('group') } as Omit<SequenceSpec, 'messages'>
  const first = await run({ ...spec, messages: SENT, diesAfter })
  const second = await run({ ...spec, messages: [...SENT, ...SENT, OTHER] })
  if (second === 'killed') throw new Error('expected the second process to live')
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
  const times = SENT.map(({ number }) => lines.filter((line) => line === `${number} first`).length)
  const others = lines.filter((line) => line.endsWith('other')).length
  const again = second.outcomes.slice(SENT.length, -1)
  return { isOver: first !== 'killed', times, again, other: second.outcomes.at(-1), others }
}

/** `behind`: what becomes of a number that is done and has no record; `other`: of a message of the other sender. */
const CASES = [
  { name: 'redisSequences', onBehind: 'park', open: LEASES_ON.redis, behind: 'parked', other: 'dead-lettered' },
  { name: 'redisSequences', onBehind: 'duplicate', open: LEASES_ON.redis, behind: 'duplicate', other: 'duplicate' },
  { name: 'postgresSequences', onBehind: 'park', open: LEASES_ON.postgres, behind: 'parked', other: 'dead-lettered' },
] as const

describeOnBoth.each(CASES)('$name in a process that is killed at each step (onBehind: $onBehind)', (one) => {
  const { open, onBehind, behind, other } = one
  it('loses no number, repeats at most the one that was under way, and runs none twice that was settled [T263]', async () => {
    await using store = await open()
    const deaths: number[] = []
    for (let isOver = false; !isOver;) {
      const steps = [1, 2, 3].map((step) => deaths.length + step)
      const lives = await Promise.all(steps.map((step) => life(store, { tail: 1, onBehind }, step)))
      for (const lived of lives) {
        expect(lived.times.toSorted((a, b) => a - b)).toEqual([1, 1, expect.any(Number)])
        expect(Math.max(...lived.times)).toBeLessThanOrEqual(2)
        // Whatever was delivered once more after that is a duplicate, or behind.
        expect(['duplicate', behind]).toEqual(expect.arrayContaining([...lived.again]))
        expect([lived.others, lived.other]).toEqual([0, other])
      }
      deaths.push(...steps)
      isOver = lives.some((lived) => lived.isOver)
    }
    // Each message takes its store at least four commands.
    expect(deaths.length).toBeGreaterThan(4 * SENT.length)
  }, 240_000)
})
