/** The value of a label that stands for all values beyond the bound. */
const OTHER = 'other'

/** A Kafka topic has at most 249 characters, a queue at most 255 bytes. */
const MOST_CHARACTERS = 255

/**
 * Bounds the values of a label that come from outside: the first `most` distinct ones are kept, all later ones are
 * `other`. A kept value is cut at 255 characters. Control characters and halves of surrogate pairs become U+FFFD,
 * because exporters differ in how they write them.
 */
export class LabelValues {
  readonly #kept = new Map<string, string>()
  readonly #most: number

  constructor(most: number) {
    this.#most = most
  }

  of(raw: string): string {
    const kept = this.#kept.get(raw)
    if (kept !== undefined) return kept
    if (this.#kept.size >= this.#most || raw.length > MOST_CHARACTERS * 4) return OTHER
    const value = clean(raw)
    this.#kept.set(raw, value)
    return value
  }
}

/** A value outside a closed set is `other`. */
export function closed(values: readonly string[]): (raw: string) => string {
  const known = new Set(values)
  return (raw) => (known.has(raw) ? raw : OTHER)
}

function clean(raw: string): string {
  return raw
    .slice(0, MOST_CHARACTERS)
    .toWellFormed()
    .replaceAll(/\p{Cc}/gu, '\uFFFD')
}
