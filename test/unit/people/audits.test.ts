import { describe, expect, it } from '@jest/globals'
import { adminOf, defineConsumer, messageId } from '../../../src/index.ts'
import { memoryStore } from '../../../src/memory/index.ts'
import { auditOfAll, auditSourceOf, type AuditSource } from '../../../src/people/audits.ts'

const clock = { time: 1_000, now: (): number => clock.time }

/** A consumer with decisions at these times. */
async function sourceWith(name: string, times: readonly number[]): Promise<AuditSource> {
  const store = memoryStore({ clock })
  const consumer = defineConsumer({ name, id: messageId.header('id'), store, handle: () => {} })
  const admin = adminOf(consumer, { group: 'g', origins: ['t'] })
  for (const time of times) {
    clock.time = time
    await admin.note({
      what: 'pause',
      about: 'consumer',
      by: time % 2 === 0 ? 'ana' : 'ben',
      reason: `${name} ${time}`,
    })
  }
  const source = auditSourceOf(consumer, 'g', name)
  if (source === undefined) throw new Error('no audit')
  return source
}

async function pagesOf(sources: readonly AuditSource[], limit: number, query = {}): Promise<readonly string[][]> {
  const pages: string[][] = []
  let after: string | undefined
  do {
    const page = await auditOfAll(sources, { ...query, limit, after })
    pages.push(page.entries.map(({ reason, source }) => `${source.consumer}: ${reason}`))
    after = page.next
  } while (after !== undefined)
  return pages
}

describe('the decisions about several consumers', () => {
  it('are one list, the newest first, and each is on one page, however long a page is', async () => {
    // A process that decided about `c` had a clock that was ahead.
    const sources = [
      await sourceWith('a', [1, 4, 4, 4, 9]),
      await sourceWith('b', []),
      await sourceWith('c', [8, 4, 5]),
    ]
    const all = (await pagesOf(sources, 100)).flat()
    expect(all).toEqual(['a: a 9', 'c: c 5', 'a: a 4', 'a: a 4', 'a: a 4', 'c: c 4', 'c: c 8', 'a: a 1'])
    for (const limit of [1, 2, 3, 7, 8]) {
      const pages = await pagesOf(sources, limit)
      expect(pages.flat()).toEqual(all)
      expect(pages.slice(0, -1).every((page) => page.length === limit)).toBe(true)
    }
  })

  it('are those of a person and of a time, if that is asked for', async () => {
    const sources = [await sourceWith('a', [1, 2, 4]), await sourceWith('b', [2, 3, 6])]
    expect((await pagesOf(sources, 2, { by: 'ana', since: 2, until: 6 })).flat()).toEqual([
      'a: a 4',
      'a: a 2',
      'b: b 2',
    ])
  })

  it('have no place on a later page for what came since the first', async () => {
    const [a, b] = [await sourceWith('a', [5, 4]), await sourceWith('b', [])]
    const { next } = await auditOfAll([a, b], { limit: 1 })
    const later = await sourceWith('b', [7])
    expect((await auditOfAll([a, later], { limit: 9, after: next })).entries.map(({ at }) => at)).toEqual([5])
  })

  it('are those of the others where one store does not answer, with the reason', async () => {
    const down: AuditSource = { consumer: 'down', audit: () => Promise.reject(new Error('no answer')) }
    const { entries, failed } = await auditOfAll([down, await sourceWith('a', [1])], { limit: 9 })
    expect(entries).toHaveLength(1)
    expect(failed).toEqual([{ source: down, error: new Error('no answer') }])
  })

  it.each(['17-0', '[]', '["1","2"]', '[1,"2","3"]'])('are not looked for after %s', async (after) => {
    await expect(auditOfAll([await sourceWith('a', [])], { limit: 9, after })).rejects.toThrow(
      'after: expected `next` of the page before, of the same consumers',
    )
  })
})
