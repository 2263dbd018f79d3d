import type { Running } from '../../src/index.ts'
import { hostileConsumer } from './consumer.ts'
import { judgeChapter, judgeCommitted, judgeDeadLetters } from './judge.ts'
import { Ledger } from './ledger.ts'
import { Numbers, nameOf, planFor, type Sending } from './plan.ts'
import type { FoundDeadLetter, Stage } from './stage.ts'
import type { OpenedStore } from './stores.ts'

/** A consumer that stands still has a message that it can neither handle nor set aside. */
const STALLED_AFTER_MS = 45_000

export interface CorpusRun {
  readonly entries: number
  readonly deliveries: number
  readonly deadLetters: number
  readonly effects: number
  /** Uncaught errors. */
  readonly crashes: readonly string[]
  /** Broken promises. */
  readonly findings: readonly string[]
  readonly seconds: number
}

export interface CorpusOptions {
  readonly stage: Stage
  readonly opened: OpenedStore
  /** @defaultValue `handle` */
  readonly handler?: 'handle' | 'handleBatch'
}

/** Sends the whole corpus, moves every dead letter back to where it came from, and sends the corpus once more. */
export async function runCorpus({ stage, opened, handler = 'handle' }: CorpusOptions): Promise<CorpusRun> {
  const startedAt = performance.now()
  const plan = planFor(stage.carrier)
  const numbers = new Numbers(plan)
  const ledger = new Ledger(numbers)
  const { strategy } = opened.store
  const crashes = new Crashes()
  const running = await stage.start(hostileConsumer(plan, ledger, { opened, handler }))
  const findings: string[] = []
  let deliveries = 0
  let effects = 0

  const play = async (
    chapter: 'first' | 'again',
    times: ReadonlyMap<number, number>,
    send: () => Promise<void>,
  ): Promise<void> => {
    await send()
    const expected = [...times.values()].reduce((sum, of) => sum + of, 0)
    const stall = await stalled(plan, ledger, expected)
    if (stall !== undefined) throw new Stalled(stall)
    await stage.untilDrained()
    findings.push(...judgeChapter(plan, ledger, { chapter, strategy, times }))
    deliveries += ledger.ended
    for (const { number } of plan) effects += ledger.effectsOf(number)
    ledger.turnPage()
  }
  const once = countsOf(plan.map(({ number }) => number))
  const sendAll = (): Promise<void> => stage.send(plan)

  let deadLetters: readonly FoundDeadLetter[] = []
  try {
    await play('first', once, sendAll)
    deadLetters = await stage.deadLetters()
    findings.push(...judgeDeadLetters(plan, deadLetters, { times: 1, strategy }))
    // In the order of their originals: of two with one ID the first is the one that counts.
    const inOrder = deadLetters
      .flatMap(({ number, moveBack }) => (number === undefined ? [] : { number, moveBack }))
      .toSorted((a, b) => a.number - b.number)
    await play('again', countsOf(inOrder.map(({ number }) => number)), async () => {
      for (const { moveBack } of inOrder) await moveBack()
    })
    await play('again', once, sendAll)
    deadLetters = await stage.deadLetters()
    findings.push(...judgeDeadLetters(plan, deadLetters, { times: 3, strategy }))
    if (opened.committed) findings.push(...judgeCommitted(plan, await opened.committed(), strategy))
  } catch (error) {
    if (!(error instanceof Stalled)) throw error
    findings.push(error.message)
  } finally {
    await stop(running, findings)
    crashes.stop()
  }
  return {
    entries: new Set(plan.flatMap(({ entry }) => entry ?? [])).size,
    deliveries,
    deadLetters: deadLetters.length,
    effects,
    crashes: crashes.seen,
    findings,
    seconds: (performance.now() - startedAt) / 1_000,
  }
}

/** Nothing more can be judged. */
class Stalled extends Error {}

/** Waits until this many deliveries have ended, and names those that do not end. */
async function stalled(plan: readonly Sending[], ledger: Ledger, count: number): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, STALLED_AFTER_MS)
  })
  await Promise.race([ledger.until(() => ledger.ended >= count), late])
  clearTimeout(timer)
  if (ledger.ended >= count) return undefined
  const open = plan.filter(({ number }) => ledger.endingsOf(number).length === 0)
  const first = open.slice(0, 20).map(nameOf).join('; ')
  return `stalled with ${ledger.ended} of ${count} ended; the first that did not: ${first}`
}

function countsOf(numbers: readonly number[]): ReadonlyMap<number, number> {
  const counts = new Map<number, number>()
  for (const number of numbers) counts.set(number, (counts.get(number) ?? 0) + 1)
  return counts
}

async function stop(running: Running, findings: string[]): Promise<void> {
  const { live, checks } = running.health()
  if (!live) findings.push(`not live at the end: ${JSON.stringify(checks)}`)
  await running.stop({ deadlineMs: 5_000 })
}

/** Errors that would have ended the process. */
class Crashes {
  readonly seen: string[] = []
  readonly #note = (error: unknown): void => {
    this.seen.push(error instanceof Error ? (error.stack ?? error.message) : String(error))
  }

  constructor() {
    process.on('uncaughtException', this.#note)
    process.on('unhandledRejection', this.#note)
  }

  stop(): void {
    process.off('uncaughtException', this.#note)
    process.off('unhandledRejection', this.#note)
  }
}
