import type { Admin } from '../../src/people/admin.ts'
import type { ListedState, RecordPage } from '../../src/ports/store-admin.ts'
import type { Services } from './services.ts'
import { EachOnce } from '../../src/records/each-once.ts'

/** Records that a store looks at for one question: far less than its time limit, also on a slow one. */
const LOOKED_AT_ONCE = 20_000
/** What is rare may be anywhere among millions of records: then the answer says how far it has come. */
const ENOUGH_MS = 2_000

interface Looking {
  readonly admin: Admin
  readonly state: ListedState
  readonly limit: number
  /** @defaultValue the beginning */
  readonly after?: string | undefined
  /** @defaultValue 2 s */
  readonly withinMs?: number
}

/** Where a look has ended; `next` undefined: at the end. */
export interface LookedTo {
  readonly looked: number
  readonly next: string | undefined
}

/** Goes from page to page of a list, until `hasEnough`, the end of the list or the end of the time for one answer. */
export async function lookThrough(
  services: Services,
  { admin, state, limit, after, withinMs = ENOUGH_MS }: Looking,
  hasEnough: (records: RecordPage['records']) => boolean,
): Promise<LookedTo> {
  const until = services.clock.monotonic() + withinMs
  const once = new EachOnce()
  let [looked, next] = [0, after]
  do {
    const asked = { state, limit, lookAtMost: LOOKED_AT_ONCE, after: next }
    const page: RecordPage = await services.asking(() => admin.list(asked))
    looked += page.looked
    next = page.next
    if (hasEnough(once.of(page.records))) break
  } while (next !== undefined && services.clock.monotonic() < until)
  return { looked, next }
}
