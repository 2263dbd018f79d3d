import { describe, expect, it } from '@jest/globals'
import { defineConsumer, positionsOf, type GoOnFrom } from '../../../src/index.ts'
import { memoryStore } from '../../../src/memory/index.ts'
import { MemoryOffsets } from '../../../testing/stores/memory-offsets.ts'
import { holdAt } from '../../kit/held-position.ts'

const WHY = { by: 'kim', reason: 'OPS-812' }
const FROM = { group: 'workers' }

function consumerOn(store: MemoryOffsets): ReturnType<typeof defineConsumer> {
  return defineConsumer({ name: 'sms', store, handle: () => {} })
}

describe('positionsOf', () => {
  it('lists every position of its consumer, and why a partition is held', async () => {
    const store = new MemoryOffsets()
    await holdAt(store, 'workers/sms', 't/0', 5n, 'created anew')
    await holdAt(store, 'workers/other', 't/1', 5n, 'created anew')
    const admin = positionsOf(consumerOn(store), FROM)
    expect(admin.scope).toBe('workers/sms')
    expect(await admin.list()).toMatchObject([{ stream: 't/0', next: 5n, held: 'created anew' }])
  })

  it.each<[GoOnFrom, bigint]>([
    ['position', 5n],
    ['beginning', 0n],
    [3n, 3n],
  ])('releases a hold so that its partition goes on from %s', async (from, next) => {
    const store = new MemoryOffsets()
    await holdAt(store, 'workers/sms', 't/0', 5n, 'created anew')
    const admin = positionsOf(consumerOn(store), FROM)
    expect(await admin.release('t/0', { ...WHY, goOnFrom: from })).toBe('released')
    expect(await admin.list()).toMatchObject([{ stream: 't/0', next, held: undefined }])
    expect(await admin.release('t/0', { ...WHY, goOnFrom: from })).toBe('not-held')
    expect(await admin.release('t/9', { ...WHY, goOnFrom: from })).toBe('no-position')
  })

  it('refuses what is no decision, and changes nothing', async () => {
    const store = new MemoryOffsets()
    await holdAt(store, 'workers/sms', 't/0', 5n, 'created anew')
    const admin = positionsOf(consumerOn(store), FROM)
    for (const how of [
      { ...WHY, goOnFrom: -1n },
      { ...WHY, goOnFrom: 3 as never },
      { by: '', reason: 'x', goOnFrom: 'position' as const },
      { by: 'kim', reason: ' ', goOnFrom: 'position' as const },
    ]) {
      await expect(admin.release('t/0', how)).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    }
    expect(await admin.list()).toMatchObject([{ next: 5n, held: 'created anew' }])
  })

  it('refuses a store that keeps records, and a group that is none', () => {
    const onRecords = defineConsumer({ name: 'sms', store: memoryStore(), handle: () => {} })
    expect(() => positionsOf(onRecords, FROM)).toThrow('expected one of strategy offsets, got lease')
    expect(() => positionsOf(consumerOn(new MemoryOffsets()), { group: '' })).toThrow('group')
  })
})
