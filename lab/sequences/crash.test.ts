import { describe, expect, it } from '@jest/globals'
import type { SequenceOptions } from '../../src/index.ts'
import { backends } from '../../test/kit/backends.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { runProgram } from '../kit/worker/bundled.ts'
import { effectsOn, INBOXES_ON, LEASES_ON, type WorkerStore } from '../kit/worker-stores.ts'
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

const run = (spec: SequenceSpec): Promise<Told | 'killed'> => runProgram(new URL('program.ts', import.meta.url), spec)

/** A process dies after its nth command; all is delivered again, twice, then a message of the other sender comes. */
async function life(store: WorkerStore, options: SequenceOptions, diesAfter: number) {
  const { file, times: timesOf } = effectsOn(store)
  const spec = { store: store.spec, options, file, group: uniqueName('group') } as Omit<SequenceSpec, 'messages'>
  const first = await run({ ...spec, messages: SENT, diesAfter })
  const second = await run({ ...spec, messages: [...SENT, ...SENT, OTHER] })
  if (second === 'killed') throw new Error('expected the second process to live')
  const effectOf = ({ number, text }: NumberedMessage): string => `${number} ${text} ${spec.group}`
  const times = await Promise.all(SENT.map((message) => timesOf(effectOf(message))))
  const others = await timesOf(effectOf(OTHER))
  const again = second.outcomes.slice(SENT.length, -1)
  return { isOver: first !== 'killed', times, again, other: second.outcomes.at(-1), others }
}

/** Each message takes its store at least four commands. */
const LEAST_DEATHS = 4 * SENT.length + 1
const PARKING = { onBehind: 'park', behind: 'parked', other: 'dead-lettered' } as const
const DROPPING = { onBehind: 'duplicate', behind: 'duplicate', other: 'duplicate' } as const

interface Case {
  readonly open: () => Promise<WorkerStore>
  readonly onBehind: 'park' | 'duplicate'
  /** How often an effect may happen that a death interrupted. */
  readonly most: number
  /** What becomes of a number that is done and has no record. */
  readonly behind: string
  /** What becomes of a message of the other sender. */
  readonly other: string
}

/** Resolves with the number of steps that a process died at. */
async function deathsOf({ open, onBehind, most, behind, other }: Case): Promise<number> {
  await using store = await open()
  const deaths: number[] = []
  for (let isOver = false; !isOver;) {
    const steps = [1, 2, 3].map((step) => deaths.length + step)
    const lives = await Promise.all(steps.map((step) => life(store, { tail: 1, onBehind }, step)))
    for (const lived of lives) {
      expect(lived.times.toSorted((a, b) => a - b)).toEqual([1, 1, expect.any(Number)])
      expect(Math.max(...lived.times)).toBeLessThanOrEqual(most)
      // Whatever was delivered once more after that is a duplicate, or behind.
      expect(['duplicate', behind]).toEqual(expect.arrayContaining([...lived.again]))
      expect([lived.others, lived.other]).toEqual([0, other])
    }
    deaths.push(...steps)
    isOver = lives.some((lived) => lived.isOver)
  }
  return deaths.length
}

describeOnBoth.each([
  { name: 'redisSequences', open: LEASES_ON.redis, most: 2, ...PARKING },
  { name: 'redisSequences', open: LEASES_ON.redis, most: 2, ...DROPPING },
  { name: 'postgresSequences', open: LEASES_ON.postgres, most: 2, ...PARKING },
])('$name in a process that is killed at each step (onBehind: $onBehind)', (one) => {
  it('loses no number, repeats at most the one that was under way, and runs none twice that was settled [T263]', async () => {
    expect(await deathsOf(one)).toBeGreaterThanOrEqual(LEAST_DEATHS)
  }, 240_000)
})

describeOnBoth.each([
  { name: 'postgresInboxSequences', open: INBOXES_ON.postgres, most: 1, ...PARKING },
  { name: 'postgresInboxSequences', open: INBOXES_ON.postgres, most: 1, ...DROPPING },
])('$name in a process that is killed at each step (onBehind: $onBehind)', (one) => {
  it('loses no number, and commits the effect of each once [T291]', async () => {
    expect(await deathsOf(one)).toBeGreaterThanOrEqual(LEAST_DEATHS)
  }, 240_000)
})
