import type { ConfiguredConsumer } from '../../src/index.ts'
import { countedText } from '../../src/core/counted-text.ts'
import { systemClock } from '../../src/foundation/clock.ts'
import type { FoundMessage } from '../../src/replay/find/find.ts'
import {
  problemOf,
  search,
  type SearchedPlace,
  type SearchHow,
  type SearchProblem,
  type SearchResult,
} from '../../src/replay/find/search.ts'
import { CommandError } from '../exit.ts'
import { printable, say } from '../output.ts'
import { titleOf } from '../session.ts'

/** What could not be asked. */
export interface Problem {
  readonly consumer: string
  readonly code: string
  readonly text: string
}

/** Questions to several consumers: what fails for one of them is told, and the others are asked. */
export class Inquiry {
  readonly looked: SearchResult<ConfiguredConsumer>['looked'][number][] = []
  readonly problems: Problem[] = []
  readonly signal: AbortSignal

  constructor(signal: AbortSignal) {
    this.signal = signal
  }

  /** A store or a broker gave no answer, or may not be read. */
  get isIncomplete(): boolean {
    return this.problems.some(({ code }) => !code.startsWith('CONFIG'))
  }

  /** `undefined`: it failed. */
  async tried<T>(entry: ConfiguredConsumer, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work()
    } catch (error) {
      if (error instanceof CommandError) throw error
      this.#add(problemOf(entry, error))
      return undefined
    }
  }

  /** The messages that are asked for, in the order of the places. */
  async find(places: readonly SearchedPlace[], how: Omit<SearchHow, 'clock'>): Promise<readonly FoundMessage[]> {
    const job = search(places, { ...how, clock: systemClock })
    const stop = (): void => job.stop()
    if (this.signal.aborted) stop()
    this.signal.addEventListener('abort', stop, { once: true })
    const { messages, looked, problems } = await job.result
    this.signal.removeEventListener('abort', stop)
    this.looked.push(...looked)
    for (const problem of problems) this.#add(problem)
    return messages.map(({ message }) => message)
  }

  /** To people: what was read, at what cost, and what failed. */
  tell(): void {
    for (const { warnings } of this.looked) for (const warning of warnings) say(`note: ${warning}`)
    for (const { consumer, code, text } of this.problems) say(`${consumer}: ${code}: ${text}`)
    for (const { from, looked, of, lacking } of this.looked) {
      const all = looked < of ? ` of ${of.toLocaleString('en')}` : ''
      const parts = [
        `looked at ${looked.toLocaleString('en')}${all}`,
        ...(lacking.undated > 0
          ? [`${countedText(lacking.undated, 'has', 'have')} no time, or one in the future`]
          : []),
        ...(lacking['no-field'] > 0
          ? [`${countedText(lacking['no-field'], 'lacks', 'lack')} a field of --where, or cannot be decoded`]
          : []),
      ]
      say(`${printable(from)}: ${parts.join('; ')}`)
    }
  }

  lookedJson(): readonly Record<string, unknown>[] {
    return this.looked.map(({ from, looked, of, lacking, warnings }) => ({
      from,
      looked,
      of,
      undated: lacking.undated,
      no_field: lacking['no-field'],
      warnings,
    }))
  }

  #add({ entry, code, text }: SearchProblem<ConfiguredConsumer>): void {
    this.problems.push({ consumer: titleOf(entry), code, text })
  }
}
