/** How often each event happened since the start, by name. */
export class Counts {
  readonly #counts: Record<string, number> = {}

  add(name: string): void {
    this.#counts[name] = (this.#counts[name] ?? 0) + 1
  }

  all(): Readonly<Record<string, number>> {
    return { ...this.#counts }
  }
}
