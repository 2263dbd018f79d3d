/** Sends of a cell by their number; the target is the first. A message carries this name to be found between worker and broker. */
export class Sends {
  readonly #cell: string
  readonly #placeOf: (number: number) => string

  constructor(cell: string, placeOf: (number: number) => string) {
    this.#cell = cell
    this.#placeOf = placeOf
  }

  name(number: number): string {
    return `${this.#cell}#${number}`
  }

  /** `undefined` for what is no send of this cell. */
  numberOf(name: string | undefined): number | undefined {
    const [, number] = /#(\d+)$/.exec(name ?? '') ?? []
    return number === undefined ? undefined : Number(number)
  }

  place(number: number): string {
    return this.#placeOf(number)
  }

  /** Numbers of the sends that these bytes carry whole. */
  in(bytes: Buffer): readonly number[] {
    const found = bytes.toString('latin1').matchAll(new RegExp(`${this.#cell}#(\\d+)"`, 'g'))
    return [...new Set([...found].map(([, number]) => Number(number)))]
  }
}
