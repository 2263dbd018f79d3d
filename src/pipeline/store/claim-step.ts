import { afterClaim, type AfterClaim } from '../../core/after-claim.ts'
import { together } from '../../core/together.ts'
import type { EpochMs } from '../../core/units.ts'
import type { Claim, ClaimAnswer } from '../../ports/store.ts'
import type { ResolvedConsumer } from '../../consumer/resolve-options.ts'
import type { Ending, SettingAside } from '../ending.ts'
import { Evidence } from '../evidence.ts'
import type { RunItem } from '../handling/handler-run.ts'
import type { Tell } from '../telemetry/observe.ts'
import type { Task } from '../task.ts'

/** What follows the claim of a task. */
export type ClaimStep =
  | Granted
  | {
      readonly next: 'set-aside'
      readonly claim: Claim
      readonly others?: readonly Claim[] | undefined
      readonly doubt: boolean
      readonly as: 'given-up' | 'parked'
      readonly why: SettingAside
    }
  /** Claim it again apart from others. `attempts`: how many are counted, if the store says it. */
  | Extract<AfterClaim, { next: 'claim-alone' }>
  | { readonly next: 'end'; readonly ending: Ending }
  /** Some of its keys were granted, and others keep it from running. */
  | GivenBack

/** `skip`: to be marked without a run. */
export interface Granted extends RunItem {
  readonly next: 'handle' | 'reconcile' | 'skip'
  /** With `skip`: another of its keys is done, and these become done with it. Without it, it is beyond retention. */
  readonly duplicateOf?: Done | undefined
}

export interface GivenBack {
  readonly next: 'give-back'
  readonly task: Task
  readonly claims: readonly Claim[]
  /** After the release, which gives the attempts back. */
  readonly afterwards: Extract<ClaimStep, { next: 'claim-alone' | 'end' }>
}

type Done = Extract<ClaimAnswer<unknown>, { verdict: 'done' }>
type Grant = Extract<ClaimAnswer<unknown>, { claim: unknown }>

/** Turns answers to claims into steps. */
export class ClaimSteps {
  readonly #consumer: ResolvedConsumer
  readonly #observe: Tell
  /** Tasks of which the observer knows that they are beyond retention: an inbox may claim a task twice. */
  readonly #told = new WeakSet<Task>()
  /** Tasks that had no record at all when their keys were given back: the next claim finds what that left. */
  readonly #unknown = new WeakSet<Task>()

  constructor(consumer: ResolvedConsumer, observe: Tell) {
    this.#consumer = consumer
    this.#observe = observe
  }

  /** `horizon`: a message that is older and has no record may have been handled, and its record removed. */
  after(task: Task, answer: ClaimAnswer<unknown>, horizon: EpochMs): ClaimStep {
    return this.#after(task, answer, { horizon, others: undefined })
  }

  #after(
    task: Task,
    answer: ClaimAnswer<unknown>,
    { horizon, others }: { readonly horizon: EpochMs; readonly others: readonly Claim[] | undefined },
  ): ClaimStep {
    const isBeyond = this.#isBeyondRetention(task, answer, horizon)
    const step = afterClaim(answer, this.#consumer, isBeyond)
    switch (step.next) {
      case 'handle':
      case 'reconcile':
      case 'skip': {
        const { claim, verdict } = granted(answer)
        return runOf(step.next, { task, claim, others, doubt: verdict === 'taken-over', duplicateOf: undefined })
      }
      case 'set-aside': {
        const { claim, verdict } = granted(answer)
        const doubt = verdict === 'taken-over'
        const attempts = claim.attempt - 1
        const started = isBeyond ? BEYOND_RETENTION : `${attempts} attempts were started`
        const detail = doubt ? 'an earlier attempt ended without mark or release' : started
        const why = { reason: step.reason, detail, attempts }
        return { next: 'set-aside', claim, others, doubt, as: step.as, why }
      }
      case 'claim-alone':
        return step
      case 'settle-duplicate':
        if (answer.verdict !== 'done') throw new TypeError('a duplicate that is not done (claim-step.after)')
        return ended({ end: 'duplicate', evidence: Evidence.ofDone(answer), result: step.result, since: answer.since })
      case 'wait':
        return ended({ end: 'wait', leaseLeftMs: step.waitMs })
      case 'dead-letter':
        return ended({ end: 'dead-letter', found: step })
      case 'rewind':
        return ended({ end: 'rewind' })
    }
  }

  /** The same for all keys of a message, whose answers come in their order. */
  afterAll(task: Task, answers: readonly ClaimAnswer<unknown>[], horizon: EpochMs): ClaimStep {
    if (!isSome(answers)) throw new TypeError('a claim without an answer (claim-step.after-all)')
    const { decides, granted: grants } = together<ClaimAnswer<unknown>>(answers)
    const [leading] = grants
    if (leading === undefined) return this.after(task, decides, horizon)
    const { claim } = granted('claim' in decides ? decides : leading)
    const others = claimsBeside(claim, grants)
    if (decides.verdict === 'done') return runOf('skip', { task, claim, others, doubt: false, duplicateOf: decides })
    const step = this.#after(task, decides, { horizon, others })
    if (step.next === 'claim-alone' || step.next === 'end') {
      if (grants.every(isNew)) this.#unknown.add(task)
      return { next: 'give-back', task, claims: [claim, ...others], afterwards: step }
    }
    return step
  }

  /**
   * It was granted because it has no record, although its record may have been removed by retention. A message without
   * a timestamp counts as recent.
   */
  #isBeyondRetention(task: Task, answer: ClaimAnswer<unknown>, horizon: EpochMs): boolean {
    // A higher fence, a later attempt or a person's decision means that the record still exists.
    if (answer.verdict !== 'claimed' || (!isNew(answer) && !this.#unknown.has(task))) return false
    const { message } = task
    const { timestamp } = message
    if (timestamp === undefined || timestamp <= 0 || timestamp >= horizon) return false
    if ('isKnown' in answer && answer.isKnown) return false
    if (!this.#told.has(task)) {
      this.#told.add(task)
      this.#observe({ type: 'beyond-retention', key: task.key, policy: this.#consumer.onBeyondRetention, message })
    }
    return true
  }
}

/** Nothing shows that it was claimed before. */
function isNew({ attempt, fence }: Pick<Grant, 'attempt' | 'fence'>): boolean {
  return attempt === 1 && fence <= 1
}

/** Detail of the dead letter. */
const BEYOND_RETENTION = 'older than what is still known: it may have been handled, and its record forgotten since'

function granted(answer: ClaimAnswer<unknown>): Grant {
  if ('claim' in answer) return answer
  throw new TypeError(`a grant without a claim (claim-step.granted)`)
}

/** All made here, so that they have one shape: a handler's payload is written into each. */
function runOf(next: Granted['next'], run: Omit<Granted, 'next' | 'payload'>): Granted {
  const { task, claim, others, doubt, duplicateOf } = run
  return { next, task, claim, others, payload: undefined, doubt, duplicateOf }
}

/** The claims of the other keys. */
function claimsBeside(claim: Claim, grants: readonly ClaimAnswer<unknown>[]): readonly Claim[] {
  const others: Claim[] = []
  for (const grant of grants) if ('claim' in grant && grant.claim !== claim) others.push(grant.claim)
  return others
}

function isSome<T>(answers: readonly T[]): answers is readonly [T, ...T[]] {
  return answers.length > 0
}

function ended(ending: Ending): ClaimStep {
  return { next: 'end', ending }
}
