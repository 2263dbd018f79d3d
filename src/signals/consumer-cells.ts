import type { HandlerResult } from '../core/after-run.ts'
import type { DurationMs } from '../core/units.ts'
import { ERROR_CODES, isConsumeOnceError } from '../foundation/errors.ts'
import type { Message } from '../ports/message.ts'
import type { Counts, StepDurations, StoreOperation } from '../ports/observer.ts'
import type { Outcome } from '../ports/outcome.ts'
import { COPY_HEADER } from '../copies/vocabulary.ts'
import type { Cells } from './cells.ts'
import { closed, type LabelValues } from './label-values.ts'
import { GIVEN_UP_BECAUSE, PARKED_BECAUSE } from './reasons.ts'
import type { Count, Distribution } from './series.ts'

/** Where it was found that the message of a delivery is done. */
export type Found = 'store' | 'process' | 'settle-refused' | 'beyond-retention'

export interface ConsumerLabels {
  readonly name: string
  /** Shared by all consumers. */
  readonly destinations: LabelValues
  /** Shared by all consumers. */
  readonly systems: LabelValues
  /** Empty before its start. */
  readonly store: () => string
}

/** The most destinations of one consumer whose cells are kept. */
const MOST_DESTINATIONS = 200
const STEPS = ['wait', 'claim', 'handler', 'mark', 'settle'] as const

const errorCode = closed(Object.keys(ERROR_CODES))

/** What the deliveries of one place are counted in. */
interface Destination {
  /** As the message has it. */
  readonly raw: string
  readonly name: string
  readonly handled: Count
  readonly endToEnd: Distribution
}

/** What one consumer is counted in, found once: a handled message costs some additions and no object. */
export class ConsumerCells implements Counts {
  readonly name: string
  readonly #cells: Cells
  readonly #labels: ConsumerLabels
  readonly #destinations = new Map<string, Destination>()
  readonly #steps: { readonly [Step in (typeof STEPS)[number]]: Count }
  readonly #runs = new Map<HandlerResult, Distribution>()
  #latest: Destination | undefined

  constructor(cells: Cells, labels: ConsumerLabels) {
    this.name = labels.name
    this.#cells = cells
    this.#labels = labels
    this.#steps = Object.fromEntries(STEPS.map((step) => [step, cells.counters.steps.at([this.name, step])])) as never
  }

  handled(message: Message, steps: StepDurations | undefined, endToEndMs: DurationMs | undefined): void {
    const { handled, endToEnd } = this.#destination(message)
    if (isReplayed(message)) this.delivered(message, 'handled', '')
    else handled.value++
    if (steps !== undefined) {
      const { wait, claim, handler, mark } = this.#steps
      add(wait, steps.waitMs)
      add(claim, steps.claimMs)
      add(handler, steps.handlerMs)
      add(mark, steps.markMs)
    }
    if (endToEndMs !== undefined) this.#cells.record('endToEnd', endToEnd, endToEndMs / 1_000)
  }

  settled(durationMs: DurationMs): void {
    add(this.#steps.settle, durationMs)
  }

  ran(result: HandlerResult, durationMs: DurationMs): void {
    let distribution = this.#runs.get(result)
    if (distribution === undefined) {
      distribution = this.#cells.histograms.handlerDuration.at([this.name, result])
      this.#runs.set(result, distribution)
    }
    this.#cells.record('handlerDuration', distribution, durationMs / 1_000)
  }

  called(operation: StoreOperation, count: number, durationMs: DurationMs, error: unknown): void {
    const labels = [this.name, this.#labels.store(), operation, errorLabel(error)]
    this.#cells.observed('storeDuration', labels, durationMs / 1_000)
    if (operation === 'claim' || operation === 'mark') this.#cells.observed('batchSize', [this.name, operation], count)
  }

  delivered(message: Message, outcome: Outcome, reason: string): void {
    const replay = String(isReplayed(message))
    const { name } = this.#destination(message)
    this.#cells.count('deliveries', [this.name, this.#labels.systems.of(message.system), name, outcome, reason, replay])
  }

  found(message: Message, found: Found): void {
    this.#cells.count('duplicates', [this.name, this.#destination(message).name, found])
  }

  #destination({ destination: raw, system }: Message): Destination {
    const latest = this.#latest
    if (latest !== undefined && latest.raw === raw) return latest
    let found = this.#destinations.get(raw)
    if (found === undefined) {
      found = this.#newDestination(raw, system)
      if (this.#destinations.size < MOST_DESTINATIONS) this.#destinations.set(raw, found)
    }
    return (this.#latest = found)
  }

  /** What can be counted of it begins at 0, so that a rate sees the first. */
  #newDestination(raw: string, system: string): Destination {
    const { counters, histograms } = this.#cells
    const name = this.#labels.destinations.of(raw)
    for (const found of ['store', 'process', 'settle-refused', 'beyond-retention'] satisfies Found[]) {
      counters.duplicates.at([this.name, name, found])
    }
    const zero = (outcome: Outcome, reason: string): Count =>
      counters.deliveries.at([this.name, this.#labels.systems.of(system), name, outcome, reason, 'false'])
    for (const reason of GIVEN_UP_BECAUSE) zero('dead-lettered', reason)
    for (const reason of PARKED_BECAUSE) zero('parked', reason)
    return { raw, name, handled: zero('handled', ''), endToEnd: histograms.endToEnd.at([this.name, name]) }
  }
}

function isReplayed({ headers }: Message): boolean {
  return Object.hasOwn(headers, COPY_HEADER.replayId)
}

function errorLabel(error: unknown): string {
  if (error === undefined) return ''
  return isConsumeOnceError(error) ? errorCode(error.code) : errorCode('')
}

function add(count: Count, ms: DurationMs | undefined): void {
  if (ms !== undefined) count.value += ms / 1_000
}
