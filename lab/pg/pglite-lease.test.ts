import { describe, expect, it } from '@jest/globals'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import type { PGlite } from '@electric-sql/pglite'
import { pgliteInbox, pgliteLease } from '../../adapters/pg/index.ts'
import type { Store } from '../../src/index.ts'
import { claim } from '../../testing/contract/store/claims.ts'
import { holdNew } from '../../testing/contract/store/given.ts'
import type { LeaseHarness } from '../../testing/contract/store/harness.ts'
import { describeStoreContract } from '../../testing/contract/store/contract.ts'
import { assertLikeTransition } from '../../test/contract/store-model.ts'
import { backends } from '../../test/kit/backends.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { newPglite } from './pglite-support.ts'

const describePglite = backends.has('pglite') ? describe : describe.skip

describePglite('pgliteLease', () => {
  let db: PGlite
  beforeAllOpen(async (own) => (db = own(await newPglite())))

  const createHarness = async (): Promise<LeaseHarness & { readonly store: Store; readonly schema: string }> => {
    const schema = uniqueName('lease')
    const opened = async (): Promise<Store> => {
      const store = pgliteLease({ pglite: db, schema })
      await store.open()
      return store
    }
    return {
      schema,
      store: await opened(),
      secondStore: opened,
      forget: async (key) =>
        void (await db.query(`delete from ${schema}.lease where key = $1`, [Buffer.from(key, 'base64url')])),
      spoil: async (key) => {
        await db.exec(`alter table ${schema}.lease drop constraint if exists lease_state_check`)
        await db.query(`update ${schema}.lease set state = 'Z' where key = $1`, [Buffer.from(key, 'base64url')])
      },
      close: async () => void (await db.exec(`drop schema ${schema} cascade`)),
    }
  }

  describeStoreContract('pgliteLease', { strategy: 'lease', createHarness }, { describe, it })

  it('answers random calls of three owners and of people as transition() says, while time passes', async () => {
    const { store, schema, close } = await createHarness()
    const age = async (ms: number): Promise<void> => {
      const columns = ['lease_until', 'keep_until', 'not_before', 'since']
      const aged = columns.map((at) => `${at} = ${at} - interval '${ms} ms'`)
      await db.exec(`update ${schema}.lease set ${aged.join(', ')}`)
    }
    await expect(assertLikeTransition(store, { numRuns: 100, age })).resolves.toBeUndefined()
    await close()
  }, 120_000)

  it('shares its database with an inbox', async () => {
    const { store, schema, close } = await createHarness()
    const inbox = pgliteInbox({ pglite: db, schema })
    await inbox.open()
    const { item, claim: ofInbox } = await holdNew(inbox)
    const claiming = claim(store, item)
    expect(await inbox.mark([ofInbox])).toEqual(['marked'])
    expect(await claiming).toMatchObject({ verdict: 'claimed' })
    await close()
  })
})
