// A config for the tests of the tool, with stores that the environment chooses by TEST_STORE.
import { setTimeout as sleep } from 'node:timers/promises'
import {
  defineConfig,
  defineConsumer,
  StoreError,
  type CheckFinding,
  type ConsumeOnceConfig,
  type Subscription,
  type Store,
} from '../../src/index.ts'
import { type LeaseStore, type ListQuery, type Purged, type RecordPage } from '../../src/internal.ts'
import { storeWith } from '../kit/store-with.ts'

const refused = (): Promise<never> =>
  Promise.reject(new Error('connect ECONNREFUSED redis://ops:s3cret@10.0.0.1:6379, password=s3cret'))
const ambiguous = (): Promise<never> => Promise.reject(new StoreError('STORE_AMBIGUOUS', 'no reply'))
const silent = (): Promise<never> => {
  // A timer of its own: a process that waits for nothing at all would end.
  setInterval(() => {}, 1_000)
  return new Promise(() => {})
}
const endless = async (): Promise<Purged> => {
  console.error('a batch was removed')
  await sleep(10)
  return { removed: 7, more: true }
}

/** Two keys that begin alike, each on a page of its own. */
const twins = async (_scope: string, { state, after }: ListQuery): Promise<RecordPage> => {
  if (state !== 'parked') return { records: [], looked: 0, next: undefined }
  const key = `AAAA${(after === undefined ? 'b' : 'c').repeat(18)}`
  return { records: [{ key, state }], looked: 1, next: after === undefined ? key : undefined }
}

/** One record, on the third page: the store has looked at enough for the pages before. */
const rare = async (_scope: string, { state, after = '0', lookAtMost = 0 }: ListQuery): Promise<RecordPage> => {
  if (state !== 'parked' || lookAtMost < 1) throw new TypeError('expected a list of what is parked, in bounded steps')
  const at = Number(after)
  const key = 'r'.repeat(22)
  return {
    records: at === 2 ? [{ key, state, reason: 'rare' }] : [],
    looked: lookAtMost,
    next: at < 2 ? String(at + 1) : undefined,
  }
}

function storeOf(name = 'fine'): Store {
  return storeWith(({ admin }) => {
    if (admin === undefined) throw new TypeError('expected a memory store with admin')
    const stores: Readonly<Record<string, Partial<LeaseStore>>> = {
      fine: { admin, checkup: async (): Promise<readonly CheckFinding[]> => [FINE] },
      unreachable: { checkup: refused, admin: { ...admin, peek: refused } },
      ambiguous: { admin: { ...admin, peek: ambiguous } },
      silent: { checkup: silent, admin: { ...admin, peek: silent } },
      rare: { admin: { ...admin, list: rare } },
      twins: { admin: { ...admin, list: twins } },
      endless: { admin: { ...admin, purge: endless } },
    }
    return stores[name] ?? {}
  })
}

const FINE: CheckFinding = { check: 'store.x', verdict: 'holds', found: 'x is on', meaning: '' }

const from: Subscription = { group: 'g', origins: ['t'], checkup: async () => [] }
const fine = (name: string, store: Store): ConsumeOnceConfig['consumers'][number] => ({
  consumer: defineConsumer({ name, store, handle: () => {} }),
  subscription: from,
})

const config: ConsumeOnceConfig = defineConfig({
  consumers: [
    fine('odd', storeOf(process.env['TEST_STORE'])),
    fine('fine', storeOf()),
    fine('shared', storeOf()),
    { ...fine('shared', storeOf()), subscription: { group: 'h', origins: ['t'] } },
  ],
})
export default config
