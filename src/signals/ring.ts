/** Keeps the newest values, up to a bound. */
export class Ring<T> {
  readonly #values: T[] = []
  readonly #most: number
  #next = 0

  constructor(most: number) {
    this.#most = most
  }

  add(value: T): void {
    this.#values[this.#next] = value
    this.#next = (this.#next + 1) % this.#most
  }

  *newestFirst(): Iterable<T> {
    const { length } = this.#values
    for (let back = 1; back <= length; back++) yield this.#values[(this.#next - back + length) % length] as T
  }
}
