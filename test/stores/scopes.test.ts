import { describe, expect, it } from '@jest/globals'
import { scopeName } from '../../src/consumer/scope.ts'
import type { Store } from '../../src/index.ts'
import type { StoreAdmin } from '../../src/internal.ts'
import { hold, newItem } from '../../testing/contract/store/claims.ts'
import { backends } from '../kit/backends.ts'
import { newMysqlPlace } from '../mysql/support.ts'
import { newPlace } from '../pg/support.ts'

/** Two consumers whose names are the same when they are joined. */
const SCOPES = [
  scopeName({ name: 'c', scope: undefined }, 'g/b'),
  scopeName({ name: 'b/c', scope: undefined }, 'g'),
] as const

interface Opened {
  readonly inbox: Store<unknown>
  /** As if all records were two days older. */
  readonly age: () => Promise<unknown>
  readonly close: () => Promise<unknown>
}

const DATABASES = {
  postgres: async (): Promise<Opened> => {
    const { newInbox, pool, schema, close } = await newPlace()
    const past = `now() - interval '2 days'`
    return {
      inbox: await newInbox(),
      age: () => pool.query(`update ${schema}.inbox set done_at = ${past}, keep_until = ${past}`),
      close,
    }
  },
  mariadb: async (): Promise<Opened> => {
    const { newInbox, rows, close } = await newMysqlPlace()
    const past = 'utc_timestamp(6) - interval 2 day'
    return {
      inbox: await newInbox(),
      age: () => rows(`update consume_once_inbox set done_at = ${past}, keep_until = ${past}`),
      close,
    }
  },
}

const wanted = Object.entries(DATABASES).filter(([name]) => [...backends].some((backend) => name === backend))

describe.each(wanted)('scopes of an inbox: %s', (_name, open) => {
  it('a purge of one consumer leaves what the other has done, whose names joined are the same', async () => {
    const { inbox, age, close } = await open()
    try {
      const admin = inbox.admin as StoreAdmin
      const items = SCOPES.map(() => newItem())
      for (const [at, item] of items.entries()) {
        await inbox.mark([(await hold(inbox, item, { scope: SCOPES[at] ?? '' })).claim])
      }
      await age()
      expect(await admin.purge(SCOPES[0], { retentionMs: 86_400_000, limit: 100 })).toMatchObject({ removed: 1 })
      const states = await Promise.all(
        items.map(async ({ key }, at) => (await admin.peek(SCOPES[at] ?? '', [key]))[0]?.state),
      )
      expect(states).toEqual(['absent', 'done'])
    } finally {
      await close()
    }
  })
})
