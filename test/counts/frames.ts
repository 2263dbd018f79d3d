/** Takes messages out of a stream. `lengthOf` says how long the first of them is, or `undefined` if that is not there yet. */
export class Frames {
  readonly #lengthOf: (bytes: Buffer) => number | undefined
  readonly #onFrame: (frame: Buffer) => void
  #held = Buffer.alloc(0)

  constructor(lengthOf: (bytes: Buffer) => number | undefined, onFrame: (frame: Buffer) => void) {
    this.#lengthOf = lengthOf
    this.#onFrame = onFrame
  }

  read(bytes: Buffer): void {
    let held = this.#held.length === 0 ? bytes : Buffer.concat([this.#held, bytes])
    for (;;) {
      const length = this.#lengthOf(held)
      if (length === undefined || held.length < length) break
      this.#onFrame(held.subarray(0, length))
      held = held.subarray(length)
    }
    this.#held = Buffer.from(held)
  }
}

/** Of a place of one test, or of a savepoint of one process. */
const RANDOM_NAME = /\b([a-z]+_)+[0-9a-f]{12,16}\b/g
const NUMBER = /\b\d+\b/g

/** Bytes of a message, without random names, and each number as one digit: those of transactions grow with the age of a server. */
export function sizeOf(message: Buffer): number {
  return message.toString('latin1').replaceAll(RANDOM_NAME, '').replaceAll(NUMBER, '0').length
}
