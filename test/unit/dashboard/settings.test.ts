import { describe, expect, it } from '@jest/globals'
import { defineConsumer, messageId, type ConsumerSettings } from 'consume-once'
import { memoryStore } from 'consume-once/memory'
import { settingsOf } from '../../../dashboard/server/settings.ts'
import { definitionOf } from '../../../src/consumer/define-consumer.ts'
import { CONSUMER } from '../../../src/consumer/consumer-table.ts'

type Settings = Partial<ConsumerSettings<unknown, unknown, never>>

function settings(given: Settings = {}): ReadonlyMap<string, { value: string; origin: string }> {
  const consumer = defineConsumer({ name: 'c', store: memoryStore(), handle: async () => {}, ...given })
  return new Map(settingsOf(definitionOf(consumer)).map((row) => [row.name, row]))
}

describe('settings on the dashboard', () => {
  it('have a row for each option', () => {
    const shownElsewhere = new Set(['name', 'handle', 'handleBatch'])
    const options = Object.keys(CONSUMER).filter((name) => !shownElsewhere.has(name))
    expect(options.filter((name) => !settings().has(name))).toEqual([])
  })

  it.each([
    [undefined, 'as the source says', 'default'],
    ['wait', 'wait', 'given'],
    ['hand-back', 'hand-back', 'given'],
    [{ waitMs: 2_000 }, 'wait 2 s, then hand back', 'given'],
  ] as const)('whenBusy %p reads "%s"', (whenBusy, value, origin) => {
    expect(settings(whenBusy === undefined ? {} : { whenBusy }).get('whenBusy')).toMatchObject({ value, origin })
  })

  it('tell how many identities a message has', () => {
    expect(settings().get('id')?.value).toBe('a function')
    expect(settings({ id: [messageId.header('a'), messageId.header('b')] }).get('id')?.value).toBe('2 identities')
  })
})
