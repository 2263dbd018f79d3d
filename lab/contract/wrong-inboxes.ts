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
import { MemoryInbox } from '../../testing/stores/memory-inbox.ts'
import { transactionOf } from '../../testing/stores/memory-transaction.ts'
import type { MemoryTx } from '../../testing/stores/memory-transaction.ts'
import type { InboxClass } from '../../test/contract/memory-inbox.ts'

type Claims = readonly TransactionClaim<MemoryTx>[]
type Results = readonly (Result | undefined)[]
type How = Pick<ClaimRequest, 'alone' | 'token'>

/** Each looks right, and breaks one promise of an inbox. None may hang: a law that waits for ever shows nothing. */
export const WRONG_INBOXES: Readonly<Record<string, InboxClass>> = {
  'tells one earlier attempt, however many are counted': class extends MemoryInbox {
    protected override standing(item: ClaimItem, how: How): TransactionAnswer<MemoryTx> | undefined {
      const answer = super.standing(item, how)
      return answer?.verdict === 'again-alone' ? { ...answer, attempts: 1 } : answer
    }
  },
  'grants only one key that was tried before in one claim': class extends MemoryInbox {
    override claim(request: ClaimRequest): Promise<readonly TransactionAnswer<MemoryTx>[]> {
      return super.claim({ ...request, alone: request.alone && request.items.length === 1 })
    }
  },
  'commits the effect with a release': class extends MemoryInbox {
    override async release(claims: Claims, how: ReleaseOptions): Promise<readonly ReleaseVerdict[]> {
      for (const claim of claims) transactionOf(claim).end('committed')
      return super.release(claims, how).then((verdicts) => verdicts.map(() => 'released'))
    }
  },
  'commits the effect of what it sets aside': class extends MemoryInbox {
    override async setAside(
      claims: Claims,
      as: 'given-up' | 'parked',
      why: SetAsideOptions,
    ): Promise<readonly SetAsideVerdict[]> {
      const verdicts = await super.setAside(claims, as, why)
      this.database.effects.push(...claims.flatMap((claim) => transactionOf(claim).effects))
      return verdicts
    }
  },
  'marks what was given back': class extends MemoryInbox {
    override mark(claims: Claims, results?: Results): Promise<readonly MarkVerdict[]> {
      for (const claim of claims) {
        const { givenBack } = transactionOf(claim)
        for (const { key, digest } of givenBack.values()) {
          this.database.rows.set(key, { digest, outcome: 'done', reason: '', since: 0 })
        }
      }
      return super.mark(claims, results)
    }
  },
  'gives keys back only when it has waited for the transactions of others': class extends MemoryInbox {
    override async mark(claims: Claims, results?: Results): Promise<readonly MarkVerdict[]> {
      const givesBack = claims.some((claim) => transactionOf(claim).givenBack.size > 0)
      if (givesBack) await sleep(4_000)
      return super.mark(claims, results)
    }
  },
  'says of every handler that it left its session as it was': class extends MemoryInbox {
    override async claim(request: ClaimRequest): Promise<readonly TransactionAnswer<MemoryTx>[]> {
      const answers = await super.claim(request)
      for (const answer of answers) if ('claim' in answer) Object.assign(answer.claim.transaction, { isChanged: false })
      return answers
    }
  },
  'counts an attempt of what never began': class extends MemoryInbox {
    override mark(claims: Claims, results?: Results): Promise<readonly MarkVerdict[]> {
      for (const claim of claims) {
        const { givenBack } = transactionOf(claim)
        for (const [key, given] of givenBack) givenBack.set(key, { ...given, token: '' })
      }
      return super.mark(claims, results)
    }
  },
  'sets aside what another has claimed since': class extends MemoryInbox {
    override async setAside(
      claims: Claims,
      as: 'given-up' | 'parked',
      { reason, cause }: SetAsideOptions,
    ): Promise<readonly SetAsideVerdict[]> {
      const since = systemClock.now()
      for (const claim of claims) {
        const { key, digest, attempt } = claim
        this.database.rows.set(key, { digest, outcome: as, reason, attempt, since, cause })
        transactionOf(claim).end('rolled-back')
      }
      return claims.map(() => as)
    }
  },
  'commits while a query is pending': class extends MemoryInbox {
    override async mark(claims: Claims, results?: Results): Promise<readonly MarkVerdict[]> {
      for (const claim of claims) {
        const transaction = transactionOf(claim)
        if (transaction.pending > 0) transaction.assertCommittable = () => {}
      }
      return super.mark(claims, results)
    }
  },
  'takes a COMMIT that rolled back for a mark': class extends MemoryInbox {
    override async mark(claims: Claims, results?: Results): Promise<readonly MarkVerdict[]> {
      const failed = claims.some((claim) => transactionOf(claim).hasFailed)
      if (!failed) return super.mark(claims, results)
      for (const claim of claims) transactionOf(claim).end('rolled-back')
      return claims.map(() => 'marked')
    }
  },
  'marks without the effect': class extends MemoryInbox {
    override async mark(claims: Claims, results?: Results): Promise<readonly MarkVerdict[]> {
      for (const claim of claims) transactionOf(claim).effects.length = 0
      return super.mark(claims, results)
    }
  },
  'forgets results': class extends MemoryInbox {
    override mark(claims: Claims, results?: Results): Promise<readonly MarkVerdict[]> {
      return super.mark(
        claims,
        results?.map((result) => (result !== undefined && isFailure(result) ? result : undefined)),
      )
    }
  },
  'gives a whole batch the result of its first': class extends MemoryInbox {
    override mark(claims: Claims, results: Results = []): Promise<readonly MarkVerdict[]> {
      const hasFailure = results.some((result) => result !== undefined && isFailure(result))
      return super.mark(claims, hasFailure ? results : [results[0], results[0]])
    }
  },
  'overwrites a result when a mark is sent again': class extends MemoryInbox {
    override async mark(claims: Claims, results: Results = []): Promise<readonly MarkVerdict[]> {
      const verdicts = await super.mark(claims, results)
      for (const [at, { key, digest }] of claims.entries()) {
        if (verdicts[at] !== 'already-marked') continue
        this.database.rows.set(key, { digest, outcome: 'done', reason: '', result: results[at] })
      }
      return verdicts
    }
  },
  'commits the effect of a failure': class extends MemoryInbox {
    override async mark(claims: Claims, results?: Results): Promise<readonly MarkVerdict[]> {
      const effects = claims.flatMap((claim) => transactionOf(claim).effects)
      const verdicts = await super.mark(claims, results)
      if (results?.some((result) => result !== undefined && isFailure(result)) === true) {
        this.database.effects.push(...effects)
      }
      return verdicts
    }
  },
  'takes a failure for a failed batch': class extends MemoryInbox {
    override async mark(claims: Claims, results: Results = []): Promise<readonly MarkVerdict[]> {
      if (!results.some((result) => result !== undefined && isFailure(result))) return super.mark(claims, results)
      for (const claim of claims) transactionOf(claim).end('rolled-back')
      return claims.map(() => 'marked')
    }
  },
  'marks a failure of what was released': class extends MemoryInbox {
    override async mark(claims: Claims, results: Results = []): Promise<readonly MarkVerdict[]> {
      const [claimed] = claims
      const isOver = claimed !== undefined && transactionOf(claimed).state === 'rolled-back'
      return isOver && results.length > 0 ? ['marked'] : super.mark(claims, results)
    }
  },
  'decides about what another process holds': class extends MemoryInbox {
    protected override decide(key: Key, decision: Decision): DecideVerdict {
      return this.database.locks.has(key) ? 'already' : super.decide(key, decision)
    }
  },
  'lets nobody decide while anything is held': class extends MemoryInbox {
    protected override decide(key: Key, decision: Decision): DecideVerdict {
      return this.database.locks.size > 0 ? 'refused' : super.decide(key, decision)
    }
  },
  'reopens what is parked': class extends MemoryInbox {
    protected override decide(key: Key, decision: Decision): DecideVerdict {
      return super.decide(key, decision === 'reopen' ? 'rerun' : decision)
    }
  },
  'forgets what was set aside': class extends MemoryInbox {
    protected override decide(key: Key, decision: Decision): DecideVerdict {
      const verdict = super.decide(key, decision)
      return decision === 'forget' && verdict === 'refused' ? super.decide(key, 'rerun') : verdict
    }
  },
  'runs what a person has resolved as done': class extends MemoryInbox {
    protected override decide(key: Key, decision: Decision): DecideVerdict {
      const verdict = super.decide(key, decision)
      if (decision === 'done' && verdict === 'decided') this.database.rows.delete(key)
      return verdict
    }
  },
  'takes what a person has let run for new': class extends MemoryInbox {
    protected override decide(key: Key, decision: Decision): DecideVerdict {
      const verdict = super.decide(key, decision)
      this.database.known.delete(key)
      return verdict
    }
  },
  'knows every key': class extends MemoryInbox {
    override async claim(request: ClaimRequest): Promise<readonly TransactionAnswer<MemoryTx>[]> {
      for (const { key } of request.items) this.database.known.add(key)
      return super.claim(request)
    }
  },
  'keeps attempts over a decision': class extends MemoryInbox {
    protected override decide(key: Key, decision: Decision): DecideVerdict {
      const attempts = this.database.attempts.get(key) ?? 0
      const verdict = super.decide(key, decision)
      this.database.attempts.set(key, attempts)
      return verdict
    }
  },
  'shows what was set aside as done': class extends MemoryInbox {
    protected override record(key: Key): MessageRecord {
      const record = super.record(key)
      return record.state === 'given-up' ? { ...record, state: 'done' } : record
    }
  },
  'lists the last of each page again': class extends MemoryInbox {
    protected override list(query: ListQuery, isOf: (key: Key) => boolean): RecordPage {
      const page = super.list({ ...query, limit: query.limit - 1 }, isOf)
      return super.list({ ...query, after: page.records.at(-1)?.key ?? query.after }, isOf)
    }
  },
  'lists one page only': class extends MemoryInbox {
    protected override list(query: ListQuery, isOf: (key: Key) => boolean): RecordPage {
      return { ...super.list(query, isOf), next: undefined }
    }
  },
  'writes the effect at once': class extends MemoryInbox {
    override async claim(request: ClaimRequest): Promise<readonly TransactionAnswer<MemoryTx>[]> {
      const answers = await super.claim(request)
      for (const answer of answers) if ('claim' in answer) transactionOf(answer.claim).effects = this.database.effects
      return answers
    }
  },
  'lends a transaction beyond its end': class extends MemoryInbox {
    override async release(claims: Claims, how: ReleaseOptions): Promise<readonly ReleaseVerdict[]> {
      const verdicts = await super.release(claims, how)
      for (const claim of claims) transactionOf(claim).state = 'open'
      return verdicts
    }
  },
  'lets a key with an earlier attempt into a batch': class extends MemoryInbox {
    protected override standing(item: ClaimItem, how: How): TransactionAnswer<MemoryTx> | undefined {
      return super.standing(item, { ...how, alone: true })
    }
  },
  'forgets the payload of what failed': class extends MemoryInbox {
    override async release(claims: Claims, how: ReleaseOptions): Promise<readonly ReleaseVerdict[]> {
      const verdicts = await super.release(claims, how)
      for (const { key } of claims) this.database.tried.set(key, { ...this.database.tried.get(key), digest: '' })
      return verdicts
    }
  },
  'lets what failed be claimed at once': class extends MemoryInbox {
    override release(claims: Claims, how: ReleaseOptions): Promise<readonly ReleaseVerdict[]> {
      return super.release(claims, { ...how, delayMs: 0 })
    }
  },
  'forgets why it failed': class extends MemoryInbox {
    override release(claims: Claims, how: ReleaseOptions): Promise<readonly ReleaseVerdict[]> {
      return super.release(claims, { ...how, cause: undefined })
    }
  },
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
  'forgets the story of what is set aside': class extends MemoryInbox {
    override setAside(
      claims: Claims,
      as: 'given-up' | 'parked',
      { reason }: SetAsideOptions,
    ): Promise<readonly SetAsideVerdict[]> {
      return super.setAside(claims, as, { reason })
    }
  },
  'forgets attempts with the transaction': class extends MemoryInbox {
    override release(claims: Claims): Promise<readonly ReleaseVerdict[]> {
      return super.release(claims, { refund: true, doubt: false })
    }
  },
  'never gives an attempt back': class extends MemoryInbox {
    override release(claims: Claims): Promise<readonly ReleaseVerdict[]> {
      return super.release(claims, { refund: false, doubt: false })
    }
  },
  'takes what it waited for as done': class extends MemoryInbox {
    override async claim(request: ClaimRequest): Promise<readonly TransactionAnswer<MemoryTx>[]> {
      const waits = request.items.some(({ key }) => this.database.locks.has(key))
      if (!waits) return super.claim(request)
      return request.items.map(() => ({ verdict: 'done' }))
    }
  },
  'grants a key to all who ask': class extends MemoryInbox {
    override async claim(request: ClaimRequest): Promise<readonly TransactionAnswer<MemoryTx>[]> {
      for (const { key } of request.items) this.database.locks.delete(key)
      return super.claim(request)
    }
  },
  'compares no payloads': class extends MemoryInbox {
    protected override standing({ key }: ClaimItem, how: How): TransactionAnswer<MemoryTx> | undefined {
      return super.standing({ key, digest: this.database.rows.get(key)?.digest ?? '' }, how)
    }
  },
  'tells that it was marked just now': class extends MemoryInbox {
    protected override standing(item: ClaimItem, how: How): TransactionAnswer<MemoryTx> | undefined {
      const standing = super.standing(item, how)
      return standing?.verdict === 'done' ? { ...standing, since: systemClock.now() } : standing
    }
  },
  'swallows what was set aside': class extends MemoryInbox {
    protected override standing(item: ClaimItem, how: How): TransactionAnswer<MemoryTx> | undefined {
      const standing = super.standing(item, how)
      return standing !== undefined && 'reason' in standing ? { verdict: 'done' } : standing
    }
  },
}
