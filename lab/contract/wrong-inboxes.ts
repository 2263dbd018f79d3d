import { setTimeout as sleep } from 'node:timers/promises'
import type {
  DecideVerdict,
  Decision,
  Key,
  MarkVerdict,
  MessageRecord,
  ReleaseVerdict,
  Result,
  SetAsideVerdict,
} from '../../src/core/record.ts'
import { systemClock } from '../../src/foundation/clock.ts'
import { isFailure } from '../../src/core/result.ts'
import type {
  TransactionClaim,
  TransactionAnswer,
  ClaimItem,
  ClaimRequest,
  ReleaseOptions,
  SetAsideOptions,
} from '../../src/ports/store.ts'
import type { ListQuery, RecordPage } from '../../src/ports/store-admin.ts'
import { MemoryInbox, type MemoryInboxOptions } from '../../testing/stores/memory-inbox.ts'
import { transactionOf, type MemoryTx } from '../../testing/stores/memory-transaction.ts'
import type { InboxClass } from '../../test/contract/memory-inbox.ts'
import { NO_REFUND, REFUND } from '../../testing/contract/store/given.ts'
import { wrongIn } from './instead.ts'

type Claims = readonly TransactionClaim<MemoryTx>[]
type Results = readonly (Result | undefined)[]
type Answer = TransactionAnswer<MemoryTx>

interface Methods {
  claim(request: ClaimRequest): Promise<readonly Answer[]>
  mark(claims: Claims, results?: Results): Promise<readonly MarkVerdict[]>
  release(claims: Claims, how: ReleaseOptions): Promise<readonly ReleaseVerdict[]>
  setAside(claims: Claims, as: 'given-up' | 'parked', why: SetAsideOptions): Promise<readonly SetAsideVerdict[]>
  standing(item: ClaimItem, how: Pick<ClaimRequest, 'alone' | 'token'>): Answer | undefined
  decide(key: Key, decision: Decision): DecideVerdict
  record(key: Key): MessageRecord
  list(query: ListQuery, isOf: (key: Key) => boolean): RecordPage
}

const wrong = wrongIn<MemoryInbox, Methods, MemoryInboxOptions | undefined>(MemoryInbox)

const effectsOf = (claims: Claims): string[] => claims.flatMap((claim) => transactionOf(claim).effects)
const hasFailure = (results: Results = []): boolean =>
  results.some((result) => result !== undefined && isFailure(result))

/** Each looks right, and breaks one promise of an inbox. None may hang: a law that waits for ever shows nothing. */
export const WRONG_INBOXES: Readonly<Record<string, InboxClass>> = {
  'tells one earlier attempt, however many are counted': wrong('standing', (right, args) => {
    const answer = right(...args)
    return answer?.verdict === 'again-alone' ? { ...answer, attempts: 1 } : answer
  }),
  'grants only one key that was tried before in one claim': wrong('claim', (right, [request]) =>
    right({ ...request, alone: request.alone && request.items.length === 1 }),
  ),
  'commits the effect with a release': wrong('release', (right, [claims, how]) => {
    for (const claim of claims) transactionOf(claim).end('committed')
    return right(claims, how).then((verdicts) => verdicts.map(() => 'released'))
  }),
  'commits the effect of what it sets aside': wrong('setAside', async (right, [claims, ...how], { database }) => {
    const verdicts = await right(claims, ...how)
    database.effects.push(...effectsOf(claims))
    return verdicts
  }),
  'marks what was given back': wrong('mark', (right, [claims, results], { database }) => {
    for (const { key, digest } of claims.flatMap((claim) => [...transactionOf(claim).givenBack.values()])) {
      database.rows.set(key, { digest, outcome: 'done', reason: '', since: 0 })
    }
    return right(claims, results)
  }),
  'gives keys back only when it has waited for the transactions of others': wrong(
    'mark',
    async (right, [claims, results]) => {
      const givesBack = claims.some((claim) => transactionOf(claim).givenBack.size > 0)
      if (givesBack) await sleep(4_000)
      return right(claims, results)
    },
  ),
  'says of every handler that it left its session as it was': wrong('claim', async (right, [request]) => {
    const answers = await right(request)
    for (const answer of answers) if ('claim' in answer) Object.assign(answer.claim.transaction, { isChanged: false })
    return answers
  }),
  'counts an attempt of what never began': wrong('mark', (right, [claims, results]) => {
    for (const { givenBack } of claims.map((claim) => transactionOf(claim))) {
      for (const [key, given] of givenBack) givenBack.set(key, { ...given, token: '' })
    }
    return right(claims, results)
  }),
  'sets aside what another has claimed since': wrong(
    'setAside',
    async (_, [claims, as, { reason, cause }], { database }) => {
      const since = systemClock.now()
      for (const claim of claims) {
        const { key, digest, attempt } = claim
        database.rows.set(key, { digest, outcome: as, reason, attempt, since, cause })
        transactionOf(claim).end('rolled-back')
      }
      return claims.map(() => as)
    },
  ),
  'commits while a query is pending': wrong('mark', (right, [claims, results]) => {
    for (const transaction of claims.map((claim) => transactionOf(claim))) {
      if (transaction.pending > 0) transaction.assertCommittable = () => {}
    }
    return right(claims, results)
  }),
  'takes a COMMIT that rolled back for a mark': wrong('mark', async (right, [claims, results]) => {
    if (!claims.some((claim) => transactionOf(claim).hasFailed)) return right(claims, results)
    for (const claim of claims) transactionOf(claim).end('rolled-back')
    return claims.map(() => 'marked')
  }),
  'marks without the effect': wrong('mark', (right, [claims, results]) => {
    for (const claim of claims) transactionOf(claim).effects.length = 0
    return right(claims, results)
  }),
  'forgets results': wrong('mark', (right, [claims, results]) =>
    right(
      claims,
      results?.map((result) => (hasFailure([result]) ? result : undefined)),
    ),
  ),
  'gives a whole batch the result of its first': wrong('mark', (right, [claims, results = []]) =>
    right(claims, hasFailure(results) ? results : [results[0], results[0]]),
  ),
  'overwrites a result when a mark is sent again': wrong(
    'mark',
    async (right, [claims, results = []], { database }) => {
      const verdicts = await right(claims, results)
      for (const [at, { key, digest }] of claims.entries()) {
        if (verdicts[at] !== 'already-marked') continue
        database.rows.set(key, { digest, outcome: 'done', reason: '', result: results[at] })
      }
      return verdicts
    },
  ),
  'commits the effect of a failure': wrong('mark', async (right, [claims, results], { database }) => {
    const effects = effectsOf(claims)
    const verdicts = await right(claims, results)
    if (hasFailure(results)) database.effects.push(...effects)
    return verdicts
  }),
  'takes a failure for a failed batch': wrong('mark', async (right, [claims, results]) => {
    if (!hasFailure(results)) return right(claims, results)
    for (const claim of claims) transactionOf(claim).end('rolled-back')
    return claims.map(() => 'marked')
  }),
  'marks a failure of what was released': wrong('mark', async (right, [claims, results = []]) => {
    const [claimed] = claims
    const isOver = claimed !== undefined && transactionOf(claimed).state === 'rolled-back'
    return isOver && results.length > 0 ? ['marked'] : right(claims, results)
  }),
  'decides about what another process holds': wrong('decide', (right, [key, decision], { database }) =>
    database.locks.has(key) ? 'already' : right(key, decision),
  ),
  'lets nobody decide while anything is held': wrong('decide', (right, args, { database }) =>
    database.locks.size > 0 ? 'refused' : right(...args),
  ),
  'reopens what is parked': wrong('decide', (right, [key, decision]) =>
    right(key, decision === 'reopen' ? 'rerun' : decision),
  ),
  'forgets what was set aside': wrong('decide', (right, [key, decision]) => {
    const verdict = right(key, decision)
    return decision === 'forget' && verdict === 'refused' ? right(key, 'rerun') : verdict
  }),
  'runs what a person has resolved as done': wrong('decide', (right, [key, decision], { database }) => {
    const verdict = right(key, decision)
    if (decision === 'done' && verdict === 'decided') database.rows.delete(key)
    return verdict
  }),
  'takes what a person has let run for new': wrong('decide', (right, [key, decision], { database }) => {
    const verdict = right(key, decision)
    database.known.delete(key)
    return verdict
  }),
  'knows every key': wrong('claim', (right, [request], { database }) => {
    for (const { key } of request.items) database.known.add(key)
    return right(request)
  }),
  'keeps attempts over a decision': wrong('decide', (right, [key, decision], { database }) => {
    const attempts = database.attempts.get(key) ?? 0
    const verdict = right(key, decision)
    database.attempts.set(key, attempts)
    return verdict
  }),
  'shows what was set aside as done': wrong('record', (right, [key]) => {
    const record = right(key)
    return record.state === 'given-up' ? { ...record, state: 'done' } : record
  }),
  'lists the last of each page again': wrong('list', (right, [query, isOf]) => {
    const page = right({ ...query, limit: query.limit - 1 }, isOf)
    return right({ ...query, after: page.records.at(-1)?.key ?? query.after }, isOf)
  }),
  'lists one page only': wrong('list', (right, args) => ({ ...right(...args), next: undefined })),
  'writes the effect at once': wrong('claim', async (right, [request], { database }) => {
    const answers = await right(request)
    for (const answer of answers) if ('claim' in answer) transactionOf(answer.claim).effects = database.effects
    return answers
  }),
  'lends a transaction beyond its end': wrong('release', async (right, [claims, how]) => {
    const verdicts = await right(claims, how)
    for (const claim of claims) transactionOf(claim).state = 'open'
    return verdicts
  }),
  'lets a key with an earlier attempt into a batch': wrong('standing', (right, [item, how]) =>
    right(item, { ...how, alone: true }),
  ),
  'forgets the payload of what failed': wrong('release', async (right, [claims, how], { database }) => {
    const verdicts = await right(claims, how)
    for (const { key } of claims) database.tried.set(key, { ...database.tried.get(key), digest: '' })
    return verdicts
  }),
  'lets what failed be claimed at once': wrong('release', (right, [claims, how]) =>
    right(claims, { ...how, delayMs: 0 }),
  ),
  'forgets why it failed': wrong('release', (right, [claims, how]) => right(claims, { ...how, cause: undefined })),
  'keeps why it failed over the decision of a person': class extends MemoryInbox {
    protected override decide(key: Key, decision: Decision): DecideVerdict {
      const verdict = super.decide(key, decision)
      if (verdict === 'decided') this.database.tried.set(key, { digest: '', cause: 'Error: long ago' })
      return verdict
    }
    protected override record(key: Key): MessageRecord {
      const record = super.record(key)
      const cause = this.database.tried.get(key)?.cause
      return record.state === 'absent' && cause !== undefined
        ? { state: 'released', digest: '', fence: 0, attempt: 0, doubt: false, owner: '', keepUntil: 1e15, cause }
        : record
    }
  },
  'forgets the story of what is set aside': wrong('setAside', (right, [claims, as, { reason }]) =>
    right(claims, as, { reason }),
  ),
  'forgets attempts with the transaction': wrong('release', (right, [claims]) => right(claims, REFUND)),
  'never gives an attempt back': wrong('release', (right, [claims]) => right(claims, NO_REFUND)),
  'takes what it waited for as done': wrong('claim', async (right, [request], { database }) => {
    const waits = request.items.some(({ key }) => database.locks.has(key))
    return waits ? request.items.map(() => ({ verdict: 'done' })) : right(request)
  }),
  'grants a key to all who ask': wrong('claim', (right, [request], { database }) => {
    for (const { key } of request.items) database.locks.delete(key)
    return right(request)
  }),
  'compares no payloads': wrong('standing', (right, [{ key }, how], { database }) =>
    right({ key, digest: database.rows.get(key)?.digest ?? '' }, how),
  ),
  'tells that it was marked just now': wrong('standing', (right, args) => {
    const standing = right(...args)
    return standing?.verdict === 'done' ? { ...standing, since: systemClock.now() } : standing
  }),
  'swallows what was set aside': wrong('standing', (right, args) => {
    const standing = right(...args)
    return standing !== undefined && 'reason' in standing ? { verdict: 'done' } : standing
  }),
}
