// A store of your own, held against the contract on any runner: here `npx tsx --test examples/testing-store.ts`.
import {
  transition,
  type Claim,
  type ClaimRequest,
  type Command,
  type LeaseAnswer,
  type LeaseStore,
  type MarkVerdict,
  type MessageRecord,
  type ReleaseOptions,
  type ReleaseVerdict,
  type RenewVerdict,
  type Result,
  type SetAsideOptions,
  type SetAsideVerdict,
  type Transition,
} from 'consume-once/spi'
// #region readme
import { describe, it } from 'node:test'
import { describeStoreContract } from 'consume-once/testing'

describeStoreContract(
  'tableLease',
  {
    strategy: 'lease', // 'inbox' and 'offsets' have laws of their own
    createHarness: async () => {
      const table = new Table() // data of its own for each law: a new schema, prefix or file
      return {
        store: tableLease(table),
        secondStore: async () => tableLease(table), // another process: a client of its own on the same data
        forget: async (key) => void table.rows.delete(key), // the server loses a record
        close: async () => {}, // ends its clients, and removes its data
      }
    },
    lacks: { admin: 'nobody may decide about records yet', unreadable: 'rows are objects' }, // their laws are skipped, and say why
  },
  { describe, it },
)
// #endregion

/** What stands for your database: rows with an end, and a change of one row that nobody comes between. */
class Table {
  readonly rows: Map<string, MessageRecord> = new Map()

  change<C extends Command['command']>(
    key: string,
    command: Parameters<typeof transition<C>>[1],
  ): Transition<C>['verdict'] {
    const { next, verdict } = transition<C>(this.rows.get(key) ?? { state: 'absent' }, command, Date.now())
    this.rows.set(key, next)
    return verdict
  }
}

function tableLease(table: Table): LeaseStore {
  return {
    strategy: 'lease',
    open: async () => {},
    claim: async ({ items, scope, ...how }: ClaimRequest) =>
      items.map(({ key, digest }): LeaseAnswer => {
        const answer = table.change<'claim'>(key, { command: 'claim', ...how, digest })
        if (!('fence' in answer)) return answer
        const { fence, attempt } = answer
        const claim = { key, digest, scope, token: how.token, retentionMs: how.retentionMs, fence, attempt }
        return { ...answer, claim }
      }),
    renew: async (claims: readonly Claim[], leaseMs: number): Promise<readonly RenewVerdict[]> =>
      claims.map(({ key, token }) => table.change<'renew'>(key, { command: 'renew', token, leaseMs })),
    mark: async (claims: readonly Claim[], results: readonly (Result | undefined)[] = []) =>
      claims.map(({ key, ...claim }, at): MarkVerdict =>
        table.change<'mark'>(key, { command: 'mark', ...claim, result: results[at] }),
      ),
    release: async (claims: readonly Claim[], how: ReleaseOptions): Promise<readonly ReleaseVerdict[]> =>
      claims.map(({ key, token }) => table.change<'release'>(key, { command: 'release', token, ...how })),
    setAside: async (claims: readonly Claim[], as: 'given-up' | 'parked', why: SetAsideOptions) =>
      claims.map(({ key, token }): SetAsideVerdict =>
        table.change<'set-aside'>(key, { command: 'set-aside', token, as, ...why }),
      ),
  }
}
