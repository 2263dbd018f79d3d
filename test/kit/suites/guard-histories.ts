import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { array, assert as assertProperty, asyncProperty, constantFrom } from 'fast-check'
import { advanceState, type GuardClient } from '../../../adapters/guards/index.ts'
import { newId, type GuardRig, type Session } from './guards.ts'

const ORDER = ['created', 'paid', 'shipped', 'closed'] as const
const A_TRANSACTION = 100

type How = 'list' | 'lower'
type Stream = readonly number[]

/** Streams of events of one order, out of order and repeated, through `advanceState`; many orders in a transaction. */
export function describeHistories(newRig: () => Promise<GuardRig>, histories: number): void {
  let rig: GuardRig
  beforeAll(async () => {
    rig = await newRig()
  })
  afterAll(async () => {
    await rig?.close()
  })

  it('any history of repeated and late events ends in the state of the sorted stream [T270]', async () => {
    const stream = array(constantFrom(0, 1, 2, 3), { minLength: 1, maxLength: 6 })
    const streams = array(stream, { minLength: A_TRANSACTION, maxLength: A_TRANSACTION })
    const session = await rig.session()
    let played = 0
    const property = asyncProperty(streams, constantFrom<How>('list', 'lower'), async (each, how) => {
      await session.run('begin')
      await playAll(session, each, how)
      played += each.length
      await session.run('rollback')
    })
    await assertProperty(property, { numRuns: histories / A_TRANSACTION, endOnFailure: true })
    expect(played).toBe(histories)
  }, 500_000)
}

async function playAll(session: Session, streams: readonly Stream[], how: How): Promise<void> {
  const ids = streams.map(() => newId())
  const rows = ids.map((id) => `('${id}', '${ORDER[0]}')`).join(', ')
  await session.run(`insert into orders (id, status) values ${rows}`)
  for (const [index, events] of streams.entries()) {
    const verdicts: string[] = []
    for (const level of events) verdicts.push(await play(session.tx, ids[index] ?? '', level, how))
    expect([events, verdicts]).toEqual([events, expectedOf(events)])
  }
  const column = how === 'list' ? 'status' : 'level'
  const found = await session.run(`select id, ${column} as state from orders where id in ('${ids.join("', '")}')`)
  const states = new Map(found.map(({ id, state }) => [id, state]))
  const last = streams.map((events) => [...events].toSorted((a, b) => a - b).at(-1) ?? 0)
  expect(ids.map((id) => states.get(id))).toEqual(last.map((level) => (how === 'list' ? ORDER[level] : level)))
}

async function play(tx: GuardClient, id: string, level: number, how: How): Promise<string> {
  const place = { table: 'orders', key: { id } }
  if (how === 'lower') {
    return (await advanceState(tx, { ...place, column: 'level', to: level, from: 'lower' })).verdict
  }
  const from = level === 0 ? ['draft'] : ORDER.slice(0, level)
  return (await advanceState(tx, { ...place, column: 'status', to: ORDER[level] ?? '', from })).verdict
}

/** An event that is higher than all before it applies. */
function expectedOf(events: Stream): string[] {
  return events.map((event, index) => {
    const before = Math.max(0, ...events.slice(0, index))
    if (event === before) return 'already'
    return event < before ? 'out-of-order' : 'applied'
  })
}
