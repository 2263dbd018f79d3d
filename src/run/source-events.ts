import type { Intake, SourceEvent } from '../ports/source.ts'

/** What happens at a source: told to the intake, for observers and logs, and counted for health. */
export class SourceEvents<Name extends string> {
  readonly #normal: ReadonlySet<Name>
  readonly #counts: Record<string, number> = {}
  #intake: Pick<Intake, 'report'> | undefined

  /** @param normal - events of normal operation, logged as `info`; all others are warnings */
  constructor(normal: readonly Name[]) {
    this.#normal = new Set(normal)
  }

  /** Until then events are only counted. */
  begin(intake: Pick<Intake, 'report'>): void {
    this.#intake = intake
  }

  /** @param detail - for people */
  report(event: Name, detail: string): void {
    this.count(event)
    this.tell({ type: 'source', event, detail, ...(this.#normal.has(event) ? {} : { isWarning: true }) })
  }

  /** Called from inside of clients, which an observer that throws must not break. */
  tell(event: SourceEvent): void {
    try {
      this.#intake?.report(event)
    } catch {
      // The observer's own error.
    }
  }

  /** Also what no observer is told. */
  count(name: string): void {
    this.#counts[name] = (this.#counts[name] ?? 0) + 1
  }

  get counts(): Readonly<Record<string, number>> {
    return { ...this.#counts }
  }
}
