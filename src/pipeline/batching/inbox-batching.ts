import { companyOf } from '../../core/company.ts'
import { shareOf } from '../../core/pace.ts'
import { DROPPED, RERUN } from '../ending.ts'
import { REFUND, type Executor } from '../runs/executor.ts'
import { tasksOf } from '../handling/handler-run.ts'
import { InTransaction } from '../runs/in-transaction.ts'
import type { Services } from '../services.ts'
import type { GivenBack } from '../store/claim-step.ts'
import type { Task } from '../task.ts'
import type { Batching, Choice } from './batching.ts'
import { followClaim } from './follow-claim.ts'

/** How a transaction is taken: beside nothing, or of messages that were handled beside one that failed. */
interface How {
  readonly isQuiet?: boolean
  readonly isProven?: boolean
}

/**
 * Claims tasks in transactions: claim, effects and mark commit together or not at all. Messages that wait spread over
 * idle transactions first. Where more wait, a batch shares one transaction without savepoints, and its handlers run one
 * after the other, as many as are quick enough (`Pace`).
 *
 * Several transactions run in parallel. A message with an attempt whose end nobody saw may have killed a process. It runs
 * in a smaller batch, with other such messages, smaller with each attempt, and its last attempt runs beside nothing. So
 * the message that kills the process is found, and no other is given up because of it (model/promela/suspects.pml).
 */
export class InboxBatching implements Choice {
  readonly #services: Services
  readonly #batching: Batching
  readonly #executor: Executor
  readonly #transactions: InTransaction
  /** Batches that were handled beside a message that failed: the next transactions take them without it. */
  readonly #proven: (readonly Task[])[] = []
  #open = 0

  constructor(services: Services, batching: Batching) {
    const { executor } = batching
    this.#services = services
    this.#batching = batching
    this.#executor = executor
    this.#transactions = new InTransaction(services, executor, (tasks) =>
      executor.handOver(tasks, () => this.#proven.push(tasks)),
    )
  }

  deliveriesLost(): void {
    // A running transaction goes on: effect and mark commit together, and the redelivery waits for it or joins it.
  }

  interrupt(): void {
    this.#transactions.interrupt()
  }

  abandon(): void {
    this.#transactions.abandon()
  }

  drain(): void {
    for (const task of this.#proven.splice(0).flat()) this.#services.end(task, DROPPED)
  }

  get hasWork(): boolean {
    return this.#services.lanes.hasReady || this.#proven.length > 0
  }

  goOn(): void {
    const { consumer, lanes, store, isDraining, isPaused } = this.#services
    if (isDraining || isPaused) return
    while (this.#open < consumer.transactions && !store.isDown && this.#batching.doubts.isGateOpen) {
      const { most } = this.#transactions
      const share = consumer.handleBatch === undefined ? shareOf(lanes.ready, consumer.transactions - this.#open) : most
      const proven = this.#proven.shift()
      const taken = proven ?? lanes.takeBatch((task) => Math.min(most, this.#companyOf(task)), share)
      if (taken.length === 0) return
      const tasks = this.#executor.stillOurs(taken)
      const [first] = tasks
      if (first === undefined) continue
      if (this.#needsQuiet(first)) this.#batching.doubts.add(first)
      else void this.#transact(tasks, { isProven: proven !== undefined })
    }
  }

  /** Only last attempts run apart, each beside nothing. */
  companyApart(): number {
    return 1
  }

  isLastAttempt(): boolean {
    return true
  }

  runApart(tasks: readonly Task[]): Promise<void> {
    return this.#transact(tasks, { isQuiet: true })
  }

  /** How many tasks may share its transaction. */
  #companyOf({ company, history: { attempts } }: Task): number {
    const { batchSize, transactions, maxAttempts, store } = this.#services.consumer
    if (attempts === 0) return Math.min(company, batchSize)
    // A stream grants a message that was tried before only alone.
    if (store.strategy === 'offsets') return 1
    const together = companyOf(attempts, { all: transactions * batchSize, maxAttempts })
    return Math.max(1, Math.min(company, batchSize, Math.floor(together / transactions)))
  }

  /** Another message must not cost this one its last attempt by killing the process, nor the other way round. */
  #needsQuiet({ history: { kind, attempts } }: Task): boolean {
    return kind === 'suspect' && attempts === this.#services.consumer.maxAttempts - 1 // mutant: last-attempt-beside-others
  }

  /** Resolves when the transaction is over, with any result. */
  async #transact(tasks: readonly Task[], how: How): Promise<void> {
    this.#open++
    this.#executor.acquire(tasks)
    try {
      await this.#claimAndHandle(tasks, how)
    } finally {
      this.#open--
      this.#batching.wake()
    }
  }

  async #claimAndHandle(tasks: readonly Task[], { isQuiet = false, isProven = false }: How): Promise<void> {
    const executor = this.#executor
    const { store, clock } = this.#services
    // Claim `alone` only if every task is known to have attempts: for others the store must first say how many they
    // had.
    const areTried = tasks.every(({ history }) => history.kind !== 'untried')
    const batch = await store.claim(tasks, areTried)
    if (batch === undefined) return executor.endAll(tasks, DROPPED)
    const followed = this.#services.endTogether(() =>
      followClaim(tasks, batch.steps, {
        companyOf: (task) => this.#companyOf(task),
        needsQuiet: (task) => !isQuiet && this.#needsQuiet(task),
        end: (task, ending) => executor.end(task, ending),
        setAside: (item, as, why) => void executor.setAside(item, as, why),
      }),
    )
    const { granted, skipped, givenBack, again, mustStartOver } = followed
    const held = [...granted, ...skipped]
    if (mustStartOver) {
      const claims = givenBack.flatMap((step) => step.claims).map((claim) => ({ claim }))
      await executor.release([...held, ...claims], REFUND)
      executor.endAll(tasksOf(held), RERUN)
      for (const step of givenBack) this.#withoutClaim(step)
    }
    executor.endAll(again, RERUN)
    if (mustStartOver) return
    const claimMs = clock.monotonic() - batch.sentAt
    const runless = tasks.length - granted.length - again.length
    await this.#transactions.handle({ granted, skipped, runless, claimMs, isProven })
  }

  /** Its keys are given back. It is claimed again alone, because others must not start over with it. */
  #withoutClaim({ task, afterwards }: GivenBack): void {
    task.limitCompany(1)
    if (afterwards.next === 'claim-alone') task.tried(afterwards.attempts ?? 1, false)
    else if (afterwards.ending.end === 'wait') task.tried(0, false)
    this.#executor.end(task, afterwards.next === 'end' ? afterwards.ending : RERUN)
  }
}
