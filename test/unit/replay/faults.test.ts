import { mkdtempSync, readFileSync, rmSync, type Stats } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { fileJournal } from '../../../adapters/file/index.ts'
import { systemClock } from '../../../src/foundation/clock.ts'
import { systemEntropy } from '../../../src/foundation/entropy.ts'
import type { Clock } from '../../../src/ports/clock.ts'
import { defineConsumer, messageId } from '../../../src/index.ts'
import { memoryJournal, runReplay, type ReplayJournal, type RunState } from '../../../src/replay/index.ts'
import { eventually } from '../../kit/eventually.ts'
import { adopted, entries, ids, WHY, World } from './world.ts'

/** A journal of an earlier life: it keeps its lines, whoever opens it. */
async function journalOf(lines: readonly object[]): Promise<ReplayJournal> {
  const journal = memoryJournal()
  await journal.append(lines.map((line) => JSON.stringify(line)))
  return journal
}

/** What the ledger has of the only replay. */
async function stateOf(world: World): Promise<RunState> {
  const [one] = (await world.store.admin?.replays?.list(`${world.subscription.group}/sms`, 1)) ?? []
  return JSON.parse(one?.state ?? '{}') as RunState
}

describe('a run that is resumed', () => {
  it('keeps what an earlier one wrote beyond the checkpoint, when it is killed as well', async () => {
    const world = await adopted()
    const plan = await world.plan()
    const part = plan.parts.find(({ to }) => Number(to) > 3)?.part ?? ''
    const journal = memoryJournal()
    // The first one was killed before the ledger heard of this line; positions 0 and 1 have none yet.
    await journal.append([
      JSON.stringify({ replay: plan.id, part, position: '2', bucket: 'done', before: 'done', outcome: 'done-before' }),
    ])
    world.gate = new Promise((resolve) => world.open.push(resolve))
    const killed = world.run(plan, { journal, deadlineMs: 1 }).catch(() => {})
    await eventually(async () => (await stateOf(world)).status === 'running')
    expect((await stateOf(world)).journal.bytes).toBe(0)
    for (const release of world.open) release()
    await killed
    expect(await entries(journal)).toHaveLength(16)
  })

  it('refuses the journal of another replay', async () => {
    const world = await adopted()
    const first = memoryJournal()
    await world.run(await world.plan(), { journal: first })
    world.publish(['later'])
    await expect(world.run(await world.plan(), { journal: first })).rejects.toThrow('name another file')
    expect(world.effects).not.toContain('later')
  })

  it('does not forget twice what an earlier run has forgotten', async () => {
    const world = await adopted()
    const plan = await world.plan({ rules: { again: true }, ids: ['m3'] })
    const journal = memoryJournal()
    await world.run(plan, { journal })
    expect(world.effects.filter((id) => id === 'm3')).toHaveLength(2)
    // As if it had been killed after the handler, and the ledger had seen nothing of it.
    const intents: object[] = []
    for await (const line of journal.read()) if (line.includes('intends')) intents.push(JSON.parse(line) as object)
    expect(intents).toHaveLength(1)
    const { admin } = world.store
    const scope = plan.scope
    await admin?.replays?.take(scope, plan.id, { owner: 'dead', ttlMs: 1, state: '' })
    const state = await stateOf(world)
    const fresh = {
      ...state,
      status: 'running',
      checkpoint: {},
      journal: { ...state.journal, bytes: 0 },
      endedAt: undefined,
    }
    await admin?.replays?.save(scope, plan.id, { owner: 'dead', ttlMs: 1, state: JSON.stringify(fresh) })
    await admin?.replays?.leave(scope, plan.id, 'dead')
    const result = await world.run(plan, { journal: await journalOf(intents) })
    expect(result).toMatchObject({ status: 'finished', totals: { 'done-before': 1, skipped: 15 } })
    expect(world.effects.filter((id) => id === 'm3')).toHaveLength(2)
  })
})

describe('a run with again', () => {
  it('makes a message happen once more, though it lies in the range twice', async () => {
    const world = await adopted()
    world.publish(['m3'])
    await world.live()
    world.publish(ids(300, 'filler'))
    world.publish(['m3'])
    await world.live()
    world.effects.length = 0
    const plan = await world.plan({ rules: { again: true }, ids: ['m3'] })
    expect(plan.toHandle).toBe(3)
    const result = await world.run(plan, { concurrency: 1 })
    expect(world.effects).toEqual(['m3'])
    expect(result.totals).toMatchObject({ handled: 1, 'done-before': 2 })
  })

  it('forgets only the records of messages that begin at once', async () => {
    const world = await adopted()
    const plan = await world.plan({ rules: { again: true }, where: ['$message.payload#/to^=+49m'] })
    expect(plan.toHandle).toBe(10)
    await world.run(plan, { canary: 1, concurrency: 8 })
    const page = await world.store.admin?.audit?.(plan.scope, { limit: 100 })
    expect(page?.entries.filter(({ about }) => about === undefined)).toHaveLength(1)
  })
})

describe('a run that is stopped', () => {
  it('ends at its deadline, also while a message waits for its next attempt', async () => {
    const world = await adopted()
    const failing = defineConsumer({
      name: 'sms',
      id: messageId.header('id'),
      store: world.store,
      maxAttempts: 5,
      backoff: { initialMs: 60_000, maxMs: 60_000 },
      handle: () => {
        throw new Error('later')
      },
    })
    const plan = await world.plan()
    const job = runReplay(failing, world.subscription, plan, { ...WHY, journal: memoryJournal(), deadlineMs: 10 })
    await eventually(async () => {
      const records = await world.store.admin?.peek(plan.scope, [plan.buckets.fresh.samples[0]?.key ?? ''])
      return records?.[0]?.state === 'released'
    })
    job.stop()
    await expect(job.result).resolves.toMatchObject({ status: 'paused', totals: { handled: 0, failed: 0 } })
  })

  it('ends though a handler never ends', async () => {
    const world = await adopted()
    const stuck = defineConsumer({
      name: 'sms',
      id: messageId.header('id'),
      store: world.store,
      graceMs: 10,
      handle: () => new Promise<void>(() => {}),
    })
    const plan = await world.plan()
    const job = runReplay(stuck, world.subscription, plan, {
      ...WHY,
      journal: memoryJournal(),
      deadlineMs: 10,
      concurrency: 1,
    })
    await eventually(async () => {
      const records = await world.store.admin?.peek(
        plan.scope,
        plan.buckets.fresh.samples.map(({ key }) => key ?? ''),
      )
      return records?.some(({ state }) => state === 'processing') ?? false
    })
    job.stop()
    await expect(job.result).resolves.toMatchObject({ status: 'paused' })
  })

  it('has nothing to do for an empty range', async () => {
    const world = await adopted()
    const plan = await world.plan({ fromPosition: 1_000n })
    expect(plan.total).toBe(0)
    await expect(world.run(plan)).resolves.toMatchObject({ status: 'finished', totals: { handled: 0 } })
  })
})

describe('a journal', () => {
  it('is not finished while its last lines are not written', async () => {
    const world = await adopted()
    const plan = await world.plan()
    const journal = memoryJournal()
    const full: ReplayJournal = { ...journal, append: () => Promise.reject(new Error('no space left')) }
    await expect(world.run(plan, { journal: full })).rejects.toThrow('no space left')
    const again = await world.run(plan, { journal })
    expect([again.status, (await entries(journal)).length]).toEqual(['finished', 16])
  })

  it('keeps each entry in a line of its own, whatever its text has', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'consume-once-journal-'))
    try {
      const journal = fileJournal(join(dir, 'one.ndjson'))
      await journal.open(0)
      const line = JSON.stringify({ detail: 'a\u2028b\u2029c\rd' })
      await journal.append([line, line])
      const lines: string[] = []
      for await (const one of journal.read()) lines.push(one)
      expect(lines).toEqual([line, line])
      await journal.close()
      const again = fileJournal(join(dir, 'one.ndjson'))
      await expect(again.open(0)).resolves.toMatchObject({ lines: [line, line] })
      await again.close()
    } finally {
      rmSync(dir, { recursive: true })
    }
  })

  it('is closed again where it cannot be opened', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'consume-once-journal-'))
    const path = join(dir, 'short.ndjson')
    await using other = await open(path, 'a+')
    const prototype = Object.getPrototypeOf(other) as { stat: (this: FileHandle) => Promise<Stats> }
    const { stat } = prototype
    const seen: FileHandle[] = []
    prototype.stat = function () {
      seen.push(this)
      return stat.call(this)
    }
    try {
      await expect(fileJournal(path).open(10)).rejects.toThrow('expected at least 10 bytes, got 0')
      expect(seen.map(({ fd }) => fd)).toEqual([-1])
    } finally {
      prototype.stat = stat
      rmSync(dir, { recursive: true })
    }
  })

  it('removes what a full disk took of its lines, before it writes more', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'consume-once-journal-'))
    try {
      const path = join(dir, 'torn.ndjson')
      const journal = fileJournal(path)
      await journal.open(0)
      await journal.append(['{"a":1}'])
      await using file = await open(path)
      const prototype = Object.getPrototypeOf(file) as { datasync: () => Promise<void> }
      const { datasync } = prototype
      prototype.datasync = () => Promise.reject(new Error('no space left'))
      await expect(journal.append(['{"b":2}'])).rejects.toThrow('no space left')
      prototype.datasync = datasync
      await journal.append(['{"c":3}'])
      expect(readFileSync(path, 'utf8')).toBe('{"a":1}\n{"c":3}\n')
      await journal.close()
    } finally {
      rmSync(dir, { recursive: true })
    }
  })
})

describe('two processes on one replay', () => {
  it('writes nothing more when it was frozen, and another one has the replay', async () => {
    const world = await adopted()
    const plan = await world.plan()
    const journal = memoryJournal()
    world.gate = new Promise((resolve) => world.open.push(resolve))
    let skipMs = 0
    const clock = {
      ...systemClock,
      after: (...given: Parameters<Clock['after']>) => systemClock.after(...given),
      monotonic: () => performance.now() + skipMs,
    }
    const entropy = { ...systemEntropy, ownerToken: () => 'frozen' }
    const first = world.run(plan, { journal, clock, entropy, concurrency: 1 })
    await eventually(async () => (await stateOf(world)).plan !== undefined)
    const lines = (await entries(journal)).length
    skipMs = 60_000
    const replays = world.store.admin?.replays
    await replays?.leave(plan.scope, plan.id, 'frozen')
    await replays?.take(plan.scope, plan.id, { owner: 'other', ttlMs: 60_000, state: '' })
    for (const release of world.open) release()
    await expect(first).rejects.toThrow('another process runs it now')
    expect(await entries(journal)).toHaveLength(lines)
  })
})
