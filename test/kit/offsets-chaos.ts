import { expect } from '@jest/globals'
import { TerminalError } from '../../src/foundation/errors.ts'
import { turns } from './manual-clock.ts'
import { OffsetsWorld, type OffsetsProcess, type Work } from './offsets-rig.ts'

const STREAMS = ['topic/0', 'topic/1']

/** Crashes, rebalances, restores and two owners at once, as the seed draws them; each message must be over once, in order. */
export async function offsetsChaos(seed: number): Promise<void> {
  const world = new OffsetsWorld()
  const below = random(seed)
  const processes: OffsetsProcess[] = []
  const gone: OffsetsProcess[] = []
  const handler = seed % 2 === 0 ? 'handle' : 'handleBatch'
  const start = async (): Promise<void> => {
    processes.push(await world.start({ handler, batchSize: 1 + below(6), maxAttempts: 1_000, before }))
  }
  /** Most are quick; some wait a while, so that things happen meanwhile. */
  const before = async ({ payload }: Work): Promise<void> => {
    if (below(4) === 0) await new Promise<void>((resolve) => void world.clock.after(1 + below(400), resolve))
    if (payload.includes('bad')) throw new TerminalError('declined')
    if (below(8) === 0) throw new Error('not now')
  }
  let sent = 0
  let backup = world.database.backup()
  const actions: readonly (() => Promise<unknown> | undefined)[] = [
    () => world.append(pick(STREAMS, below), ...names(1 + below(5))),
    () => world.clock.advance(below(300)),
    () => world.clock.advance(below(300)),
    () => pick(processes, below)?.source.join(),
    async () => {
      const process = pick(processes, below)
      process.die()
      gone.push(...processes.splice(processes.indexOf(process), 1))
      if (processes.length === 0) await start()
    },
    () => (processes.length < 3 ? start() : undefined),
    async () => {
      backup = world.database.backup()
    },
    async () => world.database.restore(backup),
    async () => {
      const { source } = pick(processes, below)
      source.publishHeld = new Promise((resolve) => void world.clock.after(1 + below(2_000), resolve))
    },
  ]
  const names = (count: number): string[] =>
    Array.from({ length: count }, () => `${++sent}${below(5) === 0 ? ' bad' : ''}`)
  for (const stream of STREAMS) await world.append(stream, ...names(3))
  await start()
  // A database restored to before a stream had a row knows nothing of it: that is the broker's offset again.
  while (world.database.rows.size < STREAMS.length) await world.clock.advance(1_000)
  backup = world.database.backup()
  for (let step = 0; step < 60; step++) {
    await pick(actions, below)()
    await turns(1 + below(6))
  }
  // The last restore is only noticed by a member that claims again or joins.
  for (const stream of STREAMS) await world.append(stream, ...names(1))
  const isOver = (): boolean =>
    STREAMS.every((stream) => world.row(stream)?.next === BigInt(world.log.get(stream)?.size ?? 0))
  for (let second = 0; second < 600 && !isOver(); second++) await world.clock.advance(1_000)

  const effects = world.database.effects.map(String)
  const deadLetters = new Set(
    [...processes, ...gone].flatMap(({ source }) =>
      source.deadLetters.map(({ message }) => JSON.parse(String(message.value)) as string),
    ),
  )
  for (const stream of STREAMS) {
    const all = [...(world.log.get(stream)?.values() ?? [])].map(String)
    expect(effects.filter((one) => all.includes(one))).toEqual(all.filter((one) => !one.includes('bad')))
    expect(all.filter((one) => deadLetters.has(one))).toEqual(all.filter((one) => one.includes('bad')))
  }
  await world.end()
}

/** A small generator with a seed: the same run each time. */
function random(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

function pick<T>(choices: readonly T[], below: (most: number) => number): T {
  const choice = choices[below(choices.length)]
  if (choice === undefined) throw new Error('nothing to choose from')
  return choice
}
