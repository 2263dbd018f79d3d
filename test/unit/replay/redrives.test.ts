import { describe, expect, it } from '@jest/globals'
import { adminOf } from '../../../src/index.ts'
import {
  memoryJournal,
  redrive,
  redriveEntriesOf,
  redriveReportLines,
  redrivesOf,
  replaysOf,
  type RedriveEntry,
  type RedriveOptions,
  type RedriveResult,
  type ReplayJournal,
  type ReportFormat,
} from '../../../src/replay/index.ts'
import { ReplayedConsumer } from '../../../src/replay/place.ts'
import { eventually } from '../../kit/eventually.ts'
import { adopted, ids, WHY, World } from './world.ts'

const ACT = { ...WHY, dryRun: false }

async function letters(count: number): Promise<World> {
  const world = await adopted()
  const some = ids(count, 'bad')
  for (const id of some) world.failing.add(id)
  world.publish(some)
  await world.live()
  world.failing.clear()
  return world
}

function redriven(world: World, options: RedriveOptions): Promise<RedriveResult> {
  return redrive(world.consumer, world.subscription, options).result
}

describe('a redrive', () => {
  it('has the ID of its preview, a state, an entry in the audit, and a line for each dead letter', async () => {
    const world = await letters(3)
    const preview = await redriven(world, {})
    const { foreseen, id } = preview
    expect(preview).toMatchObject({ id: expect.stringMatching(/^redrive-[\da-f]{8}$/), status: 'finished' })
    const journal = memoryJournal()
    await expect(redriven(world, { ...ACT, foreseen, journal })).resolves.toMatchObject({ id, status: 'finished' })
    const redrives = redrivesOf(world.consumer, world.subscription)
    const [status] = await redrives.list()
    expect(status).toMatchObject({ id, status: 'finished', ...WHY, looked: 3, of: 3, totals: { redriven: 3 } })
    await expect(replaysOf(world.consumer, world.subscription).list()).resolves.toEqual([])
    const { entries: audit } = await adminOf(world.consumer, world.subscription).audit({ decision: 'start', limit: 10 })
    expect(audit).toMatchObject([{ about: id, ...WHY }])
    const entries: RedriveEntry[] = []
    for await (const entry of redriveEntriesOf(journal)) entries.push(entry)
    expect(entries.map(({ redrive: of, outcome, destination }) => [of, outcome, destination])).toEqual(
      Array.from({ length: 3 }, () => [id, 'redriven', 'sms']),
    )
    const told = async (format: ReportFormat): Promise<string> => {
      const lines: string[] = []
      for await (const line of redriveReportLines(await redrives.status(id), redriveEntriesOf(journal), format)) {
        lines.push(line)
      }
      return lines.join('\n')
    }
    expect(await told('text')).toMatch(
      /^Redrive redrive-\w+ of sms from memory:dead-letters: finished\n\nby ada: OPS-812/,
    )
    expect(await told('csv')).toMatch(/^part,position,key,reason,outcome,destination,at\ndead-letters,0,/)
    expect((await told('json')).split('\n')).toHaveLength(4)
    expect(await told('md')).toContain('| dead-letters | 2 |')
  })

  it('is done once: the same preview is no confirmation of another one', async () => {
    const world = await letters(2)
    const { foreseen } = await redriven(world, {})
    await redriven(world, { ...ACT, foreseen })
    await expect(redriven(world, { ...ACT, foreseen })).rejects.toThrow('is over: look at the dead letters again')
  })

  it('closes its journal, however it ends: Node ends a process that loses an open file', async () => {
    const world = await letters(2)
    const { foreseen, id } = await redriven(world, {})
    let open = 0
    const journal: ReplayJournal = {
      ...memoryJournal(),
      open: async () => {
        open++
        return { bytes: 0, lines: [] }
      },
      close: async () => void open--,
    }
    const { scope, admin } = new ReplayedConsumer(world.consumer, world.subscription)
    await admin.replays?.take(scope, id, { owner: 'another', ttlMs: 60_000, state: '{}' })
    await expect(redriven(world, { ...ACT, foreseen, journal })).rejects.toThrow('another process does it now')
    expect(open).toBe(0)
    await admin.replays?.leave(scope, id, 'another')
    const full = { ...journal, append: () => Promise.reject(new Error('no space left')) }
    const next = await redriven(world, {})
    await expect(redriven(world, { ...ACT, foreseen: next.foreseen, journal: full })).rejects.toThrow('no space left')
    expect(open).toBe(0)
    const last = await redriven(world, {})
    await redriven(world, { ...ACT, foreseen: last.foreseen, journal })
    await expect(redriven(world, { ...ACT, foreseen: last.foreseen, journal })).rejects.toThrow('is over')
    expect(open).toBe(0)
  })

  it.each([
    ['pause', 'paused'],
    ['abort', 'aborted'],
  ] as const)('ends when a person asks for it in another process: %s', async (request, end) => {
    const world = await letters(20)
    const { foreseen, id } = await redriven(world, {})
    const running = redriven(world, { ...ACT, foreseen, rate: 2 })
    const redrives = redrivesOf(world.consumer, world.subscription)
    await eventually(async () => (await redrives.list()).length === 1)
    await expect(redrives[request](id, WHY)).resolves.toMatchObject({ status: 'running', request })
    const { status, because, totals } = await running
    expect([status, because]).toEqual([end, 'a person asked for it'])
    expect(totals.redriven).toBeLessThan(20)
    await expect(redrives.status(id)).resolves.toMatchObject({ status: end, request: undefined })
    const again = redriven(world, { ...ACT, foreseen }).then(
      (result) => String(result.totals.redriven > 0),
      (error: unknown) => String(error),
    )
    await expect(again).resolves.toContain(request === 'pause' ? 'true' : 'is over')
  })

  it('of a process that died is aborted at once', async () => {
    const world = await letters(1)
    const { id } = await redriven(world, { ...ACT })
    const { scope, admin } = new ReplayedConsumer(world.consumer, world.subscription)
    const ledger = admin.replays
    const redrives = redrivesOf(world.consumer, world.subscription)
    const state = JSON.stringify({ ...(await redrives.status(id)), kind: 'redrive', status: 'running' })
    await ledger?.take(scope, id, { owner: 'killed', ttlMs: 60_000, state })
    await ledger?.save(scope, id, { owner: 'killed', ttlMs: 60_000, state })
    await ledger?.leave(scope, id, 'killed')
    await expect(redrives.status(id)).resolves.toMatchObject({ status: 'died' })
    await expect(redrives.abort(id, WHY)).resolves.toMatchObject({ status: 'aborted' })
    await expect(redrives.abort(id)).rejects.toThrow('is aborted')
    await expect(redrives.pause('redrive-none')).rejects.toThrow('no redrive redrive-none')
  })
})
