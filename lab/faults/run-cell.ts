import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import type { Verdict } from '../../testing/checker/check.ts'
import type { History } from '../../testing/history.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import type { Cell, Outcome } from './cell.ts'
import { Supervisor } from './supervisor.ts'
import { inject, stopWhenAsked } from './inject/inject.ts'
import { keyOf } from './identity.ts'
import { failuresOf, verdictOf } from './judge.ts'
import type { MessageDoes } from './message.ts'
import { outcomeOf } from './outcome.ts'
import { Recorder } from './recorder.ts'
import { detachReplica } from './inject/at-server.ts'
import type { BrokerSide } from './stage/broker-side.ts'
import { withOwnServers } from './stage/own-servers.ts'
import type { Stage } from './stage/stage.ts'
import { trueMs } from '../kit/true-time.ts'
import { gather } from './truth/gather.ts'
import { subjectOf } from './truth/store-history.ts'
import type { Seen } from './wire/listener.ts'
import type { Action } from './wire/proxy.ts'
import type { CellContext, Worker } from './worker/worker.ts'
import { Sends } from './wire/sends.ts'

export interface CellRun {
  readonly cell: Cell
  readonly observed: Outcome | 'no effect'
  /** Why it failed, with witnesses; empty: it passed. */
  readonly failures: readonly string[]
  readonly history: History
  /** `undefined` if the run did not end. */
  readonly verdict?: Verdict
  readonly seconds: number
}

const INJECTED_WITHIN_MS = 30_000
const DRAINS_WITHIN_MS = 45_000
const STOPS_WITHIN_MS = 15_000
const LOOK_EVERY_MS = 50

/** Injects one fault into one message. After that another message must still be handled, and nothing may be left. */
export async function runCell(cell: Cell, stage: Stage): Promise<CellRun> {
  const begunAt = trueMs()
  const run = await withOwnServers(cell, stage, (own) => play(cell, own)).catch((error: unknown): Played => {
    const end = { isDrained: false, unsettled: [], records: new Map(), at: trueMs() }
    return { observed: 'no effect', failures: [inspect(error)], history: { events: [], end } }
  })
  return { cell, ...run, seconds: (trueMs() - begunAt) / 1_000 }
}

type Played = Pick<CellRun, 'observed' | 'failures' | 'history' | 'verdict'>

async function play(cell: Cell, stage: Stage): Promise<Played> {
  // A restarted server has a new one.
  const broker = (): BrokerSide => stage.broker(cell.broker)
  const place = await broker().newPlace(
    cell.beside,
    cell.isTransactional === true ? Math.ceil((cell.crowd ?? 0) / 2) : undefined,
  )
  const prefix = uniqueName('cell')
  const target = { id: `${prefix}-target`, key: keyOf(place.group, place.origin, `${prefix}-target`) }
  const crowd = Array.from({ length: cell.crowd ?? 0 }, (_, number) => `${prefix}-crowd-${number}`)
  const together = [target.id, ...crowd]
  const neighbours = Array.from({ length: cell.neighbours ?? 1 }, (_, number) => `${prefix}-neighbour-${number}`)
  const later = [...neighbours, ...(cell.isSentAgain === true ? [target.id] : [])]
  const sent = [...together, ...later]
  const sends = new Sends(prefix, (send) => place.placeOf(send))
  const recorder = new Recorder()
  const injector = new Injector(cell, () => ({ context, supervisor, recorder, place: place.placeOf(0) }))
  const context: CellContext = { cell, stage, place, prefix, sends, target, recorder, judge: injector.judge }
  const supervisor = new Supervisor(context)
  let isDrained = false
  try {
    for (let member = 0; member < (cell.members ?? 1); member++) await supervisor.start()
    injector.arm()
    for (const [send, id] of sent.entries()) {
      const message = { id, send: sends.name(send), does: doesOf(cell, send) }
      const [subject, at] = [subjectOf(context, id), trueMs()]
      await broker().send(place, message)
      recorder.record('producer', { f: 'send', type: 'ok', place: place.placeOf(send), subject, print: id }, at)
      if (send !== together.length - 1) continue
      await broker().transactions?.commit(place)
      await injector.over(INJECTED_WITHIN_MS)
    }
    await broker().transactions?.end(place)
    await injector.afterwards()
    recorder.record('cell', { f: 'heal' })
    isDrained = await drained(() => broker().isDrained(place, sent.length, recorder))
    await supervisor.stop(STOPS_WITHIN_MS)
  } finally {
    await supervisor[Symbol.asyncDispose]()
  }
  const history = await gather(context, { ids: [...new Set(sent)], sends: sent.length, isDrained })
  const places = sent.flatMap((id, send) => (id === target.id ? [place.placeOf(send)] : []))
  const subject = subjectOf(context, target.id)
  const observed = outcomeOf(history, subject, places)
  const verdict = verdictOf(cell, history)
  const failures = [
    ...supervisor.breaches,
    ...injector.breaches,
    ...failuresOf(cell, history, { observed, verdict, subject, places }),
  ]
  return { observed, failures, history, verdict }
}

/** The target is sent first; the crowd follows it. */
function doesOf({ message, crowd = 0, crowdDoes, oneOfCrowd }: Cell, send: number): MessageDoes {
  if (send > 0 && send === oneOfCrowd?.number) return oneOfCrowd.does
  const does = send === 0 ? message : send <= crowd ? crowdDoes : undefined
  return does ?? 'effect'
}

/** Injects the fault once: into the worker that first reaches the moment with the target. */
class Injector {
  readonly breaches: string[] = []
  readonly #cell: Cell
  readonly #scene: () => Omit<Parameters<typeof inject>[1], 'worker'>
  readonly #struck: Promise<void>
  #strikes: (healed: Promise<void>) => void = () => {}
  #isLeftBehind: Promise<void> | undefined
  #isArmed = false
  #isInjected = false
  #afterwards: (() => Promise<void>) | undefined

  constructor(cell: Cell, scene: () => Omit<Parameters<typeof inject>[1], 'worker'>) {
    this.#cell = cell
    this.#scene = scene
    this.#struck = new Promise((resolve) => {
      this.#strikes = resolve
    })
  }

  readonly judge = (worker: Worker, { moment, isTarget }: Seen): Action => {
    const { fault } = this.#cell
    if (!('at' in fault) || !this.#isArmed || this.#isInjected || !isTarget) return 'pass'
    const scene = { worker, ...this.#scene() }
    if ('lagsFrom' in fault && fault.lagsFrom === moment && this.#isLeftBehind === undefined) {
      const { action, healed } = detachReplica(fault, scene)
      this.#isLeftBehind = healed
      return action
    }
    if (moment !== fault.at) return 'pass'
    this.#isInjected = true
    const { action, healed, afterwards } = inject(fault, scene)
    this.#afterwards = afterwards
    this.#strikes(healed)
    return action
  }

  /** A start tries a claim too, and rolls it back: the fault is for what follows. */
  arm(): void {
    this.#isArmed = true
  }

  async afterwards(): Promise<void> {
    await this.#afterwards?.()
  }

  /** Resolves when the fault was injected and has healed. */
  async over(withinMs: number): Promise<void> {
    const { fault } = this.#cell
    if (fault.kind === 'none') return
    if (fault.kind === 'stop-when-asked') this.#strikes(stopWhenAsked(this.#scene()))
    const late = new AbortController()
    const isLate = sleep(withinMs, true, { signal: late.signal }).catch(() => false)
    await this.#isLeftBehind
    if (await Promise.race([this.#struck.then(() => false), isLate])) {
      this.breaches.push(`the moment of the fault never came: ${'at' in fault ? fault.at : fault.kind}`)
    }
    late.abort()
  }
}

async function drained(isSo: () => Promise<boolean>): Promise<boolean> {
  const deadline = trueMs() + DRAINS_WITHIN_MS
  while (!(await isSo())) {
    if (trueMs() > deadline) return false
    await sleep(LOOK_EVERY_MS)
  }
  return true
}
