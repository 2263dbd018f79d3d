/** Sends of a cell by number; the target is number 0. Each message carries the name of its send, so that a proxy finds it. */
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

  /** `undefined`: not a send of this cell. */
  numberOf(name: string | undefined): number | undefined {
    const [, number] = /#(\d+)$/.exec(name ?? '') ?? []
    return number === undefined ? undefined : Number(number)
  }

  place(number: number): string {
    return this.#placeOf(number)
  }

  /** Numbers of the sends that these bytes contain whole. */
  in(bytes: Buffer): readonly number[] {
    const found = bytes.toString('latin1').matchAll(new RegExp(`${this.#cell}#(\\d+)"`, 'g'))
    return [...new Set([...found].map(([, number]) => Number(number)))]
  }
}
