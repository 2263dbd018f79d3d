import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { scopeName } from '../../../src/consumer/scope.ts'
import type { Key, Store } from '../../../src/index.ts'
import type { ClaimAnswer, ClaimItem, StoreAdmin } from '../../../src/spi.ts'
import { grantedBy, newItem, newToken } from '../../../testing/contract/store/claims.ts'

const DAY_MS = 24 * 60 * 60_000

/** Two consumers that had one text before texts were injective, and one whose text has not changed. */
const SLASHED_GROUP = scopeName({ name: 'c', scope: undefined }, 'g/b')
const SLASHED_NAME = scopeName({ name: 'b/c', scope: undefined }, 'g')
const FORMER = 'g/b/c'
const ORDINARY = scopeName({ name: 'sender', scope: undefined }, 'sms')

export interface ScopesPlace {
  readonly newInbox: () => Promise<Store<unknown>>
  /** As `open()` of the version before has left it. */
  readonly createFormer: () => Promise<void>
  /** Statement of a person, with `scope`, `inbox`, `attempt` and `lease` for the names of the tables. */
  readonly run: (sql: string) => Promise<Record<string, unknown>[]>
  readonly daysAgo: (days: number) => string
  readonly close: () => Promise<void>
}

/** Laws of an inbox in a database: what one consumer has done is not removed by another, whatever they are called. */
export function describeScopes(newPlace: () => Promise<ScopesPlace>): void {
  describe('scopes', () => {
    let place: ScopesPlace
    let inbox: Store<unknown>
    beforeEach(async () => {
      place = await newPlace()
    })
    afterEach(() => place.close())

    const ask = async (scope: string, item: ClaimItem): Promise<ClaimAnswer<unknown>> => {
      const how = { token: newToken(), leaseMs: 60_000, retentionMs: DAY_MS, alone: false }
      const [answer] = await inbox.claim({ ...how, scope, items: [item] })
      if (answer === undefined) throw new Error('expected an answer')
      return answer
    }
    const done = async (scope: string): Promise<ClaimItem> => {
      const item = newItem()
      expect(await inbox.mark([grantedBy(await ask(scope, item)).claim])).toEqual(['marked'])
      return item
    }
    const statesOf = async (scope: string, ...items: readonly ClaimItem[]): Promise<string[]> => {
      const views = await admin().peek(
        scope,
        items.map(({ key }): Key => key),
      )
      return views.map(({ state }) => state)
    }
    const admin = (): StoreAdmin => {
      if (inbox.admin === undefined) throw new Error('expected a store that people may look into')
      return inbox.admin
    }
    const purge = (scope: string, days: number): ReturnType<StoreAdmin['purge']> =>
      admin().purge(scope, { retentionMs: days * DAY_MS, limit: 100 })
    const age = (days: number): Promise<unknown> =>
      place.run(`update inbox set done_at = ${place.daysAgo(days)}, keep_until = ${place.daysAgo(days)}`)
    /** The rows of both consumers, as an earlier version wrote them: under one text. */
    const former = async (): Promise<{ readonly ofGroup: ClaimItem; readonly ofName: ClaimItem }> => {
      await place.createFormer()
      inbox = await place.newInbox()
      const items = { ofGroup: await done(FORMER), ofName: await done(FORMER) }
      await place.run('update scope set shared = null')
      inbox = await place.newInbox()
      return items
    }

    it('a purge of one consumer leaves what the other has done, whose names joined are the same', async () => {
      inbox = await place.newInbox()
      const [ofGroup, ofName] = [await done(SLASHED_GROUP), await done(SLASHED_NAME)]
      await age(2)
      expect(await purge(SLASHED_GROUP, 1)).toMatchObject({ removed: 1 })
      expect(await statesOf(SLASHED_GROUP, ofGroup)).toEqual(['absent'])
      expect(await statesOf(SLASHED_NAME, ofName)).toEqual(['done'])
    })

    it('a table of the version before keeps the row of an ordinary name, and its purge', async () => {
      await place.createFormer()
      inbox = await place.newInbox()
      const item = await done(ORDINARY)
      await place.run('update scope set shared = null')
      inbox = await place.newInbox()
      expect(await ask(ORDINARY, item)).toMatchObject({ verdict: 'done' })
      await age(2)
      expect(await purge(ORDINARY, 1)).toMatchObject({ removed: 1 })
      expect(await place.run('select name, shared from scope')).toEqual([{ name: ORDINARY, shared: null }])
    })

    it('what two consumers did under one text is done for both, and removed by neither', async () => {
      const { ofGroup, ofName } = await former()
      expect(await ask(SLASHED_GROUP, ofGroup)).toMatchObject({ verdict: 'done' })
      expect(await ask(SLASHED_NAME, ofName)).toMatchObject({ verdict: 'done' })
      await age(20)
      for (const scope of [SLASHED_GROUP, SLASHED_NAME]) {
        await expect(purge(scope, 1)).rejects.toMatchObject({
          code: 'CONFIG_INVALID',
          message: expect.stringContaining('docs/stores.md'),
        })
      }
      expect(await statesOf(SLASHED_NAME, ofGroup, ofName)).toEqual(['done', 'done'])
    })

    it('a row that two consumers may use is named by a checkup until a person has decided', async () => {
      const { ofGroup } = await former()
      expect(await sharedOf(inbox)).toEqual([])
      await ask(SLASHED_GROUP, ofGroup)
      expect(await sharedOf(inbox)).toMatchObject([
        {
          verdict: 'weaker',
          found: expect.stringContaining(FORMER),
          meaning: expect.stringContaining('docs/stores.md'),
        },
      ])
      await place.run(`update scope set name = 'g%2Fb/c', shared = false where name = '${FORMER}'`)
      expect(await sharedOf(inbox)).toEqual([])
    })

    it('a process of the version before finds what the new one has done beside it', async () => {
      await former()
      const item = await done(SLASHED_GROUP)
      const [row] = await place.run(`select count(*) as n from scope where name = '${FORMER}'`)
      expect(Number(row?.['n'])).toBe(1)
      expect(await ask(FORMER, item)).toMatchObject({ verdict: 'done' })
    })

    it('the row becomes that of the one consumer who used it, when a person says so', async () => {
      const { ofGroup } = await former()
      await ask(SLASHED_GROUP, ofGroup)
      await place.run(`update scope set name = 'g%2Fb/c', shared = false where name = '${FORMER}'`)
      await age(2)
      expect(await purge(SLASHED_GROUP, 3)).toMatchObject({ removed: 0 })
      inbox = await place.newInbox()
      expect(await ask(SLASHED_GROUP, ofGroup)).toMatchObject({ verdict: 'done' })
      expect(await statesOf(SLASHED_NAME, ofGroup)).toEqual(['absent'])
    })

    it('two consumers go separate ways, with all that was done, when a person copies the rows', async () => {
      const { ofGroup, ofName } = await former()
      for (const scope of [SLASHED_GROUP, SLASHED_NAME]) await ask(scope, ofGroup)
      const [{ id } = {}] = await place.run(`select id from scope where name = '${FORMER}'`)
      await place.run(`update scope set name = 'g%2Fb/c', shared = false where id = ${String(id)}`)
      inbox = await place.newInbox()
      await statesOf(SLASHED_NAME, ofName)
      const [{ id: own } = {}] = await place.run(`select id from scope where name = 'g/b%2Fc'`)
      for (const table of ['inbox', 'attempt', 'lease']) {
        await place.run(`create table copied as select * from ${table} where scope = ${String(id)}`)
        await place.run(`update copied set scope = ${String(own)}`)
        await place.run(`insert into ${table} select * from copied`)
        await place.run('drop table copied')
      }
      expect(await ask(SLASHED_GROUP, ofGroup)).toMatchObject({ verdict: 'done' })
      expect(await ask(SLASHED_NAME, ofName)).toMatchObject({ verdict: 'done' })
      await age(2)
      expect(await purge(SLASHED_GROUP, 1)).toMatchObject({ removed: 2 })
      expect(await ask(SLASHED_NAME, ofName)).toMatchObject({ verdict: 'done' })
    })
  })
}

/** Checkup results for rows that two consumers may use. */
async function sharedOf(inbox: Store<unknown>): Promise<unknown> {
  return (await inbox.checkup?.())?.filter(({ check }) => check.endsWith('.scopes'))
}
