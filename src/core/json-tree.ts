/**
 * JSON text, parsed without loss: scalars as their canonical text (RFC 8785), members as pairs, sorted by name. So
 * nothing that `JSON.parse` would merge becomes equal: repeated names are refused, and digits are kept.
 */
export type JsonTree =
  | string
  | { readonly kind: 'object'; readonly members: readonly (readonly [name: string, value: JsonTree])[] }
  | { readonly kind: 'array'; readonly items: readonly JsonTree[] }

/** A clear text for people, without any part of the payload. */
class JsonError extends Error {
  override readonly name = 'JsonError'
}

/** Levels of objects and arrays. */
export const MOST_LEVELS = 100

/** Digits of an exponent. More are no number that anybody means. */
const MOST_EXPONENT_DIGITS = 9

/** @throws JsonError for anything but one JSON text (RFC 8259) without repeated names and lone surrogates */
export function parseJsonTree(text: string): JsonTree {
  return new Parser(text).whole()
}

class Parser {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  whole(): JsonTree {
    const tree = this.#value(0)
    this.#skipSpace()
    if (this.#at < this.#text.length) throw this.#unexpected()
    return tree
  }

  #value(level: number): JsonTree {
    this.#skipSpace()
    const code = this.#text.charCodeAt(this.#at)
    switch (code) {
      case 0x7b:
        return this.#object(level + 1)
      case 0x5b:
        return this.#array(level + 1)
      case 0x22:
        return JSON.stringify(this.#string())
      case 0x74:
        return this.#word('true')
      case 0x66:
        return this.#word('false')
      case 0x6e:
        return this.#word('null')
      default:
        return this.#number()
    }
  }

  #object(level: number): JsonTree {
    this.#enter(level)
    const members: (readonly [string, JsonTree])[] = []
    if (this.#takes(0x7d)) return { kind: 'object', members }
    do {
      this.#skipSpace()
      if (this.#text.charCodeAt(this.#at) !== 0x22) throw this.#unexpected()
      const name = this.#string()
      if (!this.#takes(0x3a)) throw this.#unexpected()
      members.push([name, this.#value(level)])
    } while (this.#takes(0x2c))
    if (!this.#takes(0x7d)) throw this.#unexpected()
    // By UTF-16 code units, as RFC 8785 says.
    members.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    for (let at = 1; at < members.length; at++) {
      if (members[at]?.[0] === members[at - 1]?.[0]) throw new JsonError('an object has a name twice')
    }
    return { kind: 'object', members }
  }

  #array(level: number): JsonTree {
    this.#enter(level)
    const items: JsonTree[] = []
    if (this.#takes(0x5d)) return { kind: 'array', items }
    do items.push(this.#value(level))
    while (this.#takes(0x2c))
    if (!this.#takes(0x5d)) throw this.#unexpected()
    return { kind: 'array', items }
  }

  #enter(level: number): void {
    if (level > MOST_LEVELS) throw new JsonError(`more than ${MOST_LEVELS} levels of objects and arrays`)
    this.#at++
  }

  #string(): string {
    const from = this.#at
    let isPlain = true
    for (let at = from + 1; ; at++) {
      const code = this.#text.charCodeAt(at)
      if (code === 0x22) {
        this.#at = at + 1
        break
      }
      // NaN is the end of the text.
      if (!(code >= 0x20)) {
        this.#at = at
        throw this.#unexpected()
      }
      if (code === 0x5c) {
        isPlain = false
        at++
      }
    }
    return isPlain ? this.#text.slice(from + 1, this.#at - 1) : this.#unescaped(from)
  }

  #unescaped(from: number): string {
    let value: string
    try {
      value = JSON.parse(this.#text.slice(from, this.#at)) as string
    } catch {
      throw new JsonError(`an escape at character ${from} that is no JSON`)
    }
    // All lone surrogates are the same bytes in UTF-8.
    if (!value.isWellFormed()) throw new JsonError('a lone surrogate')
    return value
  }

  #number(): string {
    const pattern = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
    pattern.lastIndex = this.#at
    const token = pattern.exec(this.#text)?.[0]
    if (token === undefined) throw this.#unexpected()
    this.#at += token.length
    return canonicalNumber(token)
  }

  #word(word: string): string {
    if (!this.#text.startsWith(word, this.#at)) throw this.#unexpected()
    this.#at += word.length
    return word
  }

  #takes(code: number): boolean {
    this.#skipSpace()
    if (this.#text.charCodeAt(this.#at) !== code) return false
    this.#at++
    return true
  }

  #skipSpace(): void {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at)
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return
      this.#at++
    }
  }

  #unexpected(): JsonError {
    return new JsonError(
      this.#at < this.#text.length ? `character ${this.#at} is no JSON` : 'the text ends before its JSON does',
    )
  }
}

/**
 * As RFC 8785 writes it (`1.0` is `1`, `-0` is `0`), unless a double would round it. Then it keeps its digits: two
 * 64-bit numbers that are different stay different.
 */
export function canonicalNumber(token: string): string {
  if (token.length <= 15 && /^-?\d+$/.test(token)) return token === '-0' ? '0' : token
  const exact = decimalOf(token)
  const written = String(Number(token))
  return /^-?\d/.test(written) && decimalOf(written) === exact ? written : exact
}

/** One text for each number: its digits without zeros at either end, and an exponent. */
function decimalOf(token: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(token) ?? []
  const digits = `${whole}${fraction}`
  let from = 0
  while (digits.charCodeAt(from) === 0x30) from++
  let to = digits.length
  while (to > from && digits.charCodeAt(to - 1) === 0x30) to--
  if (from === to) return '0'
  if (exponent.replace(/^[+-]?0*/, '').length > MOST_EXPONENT_DIGITS) throw new JsonError('a number out of all range')
  const shift = Number(exponent) - fraction.length + (digits.length - to)
  const significant = `${sign}${digits.slice(from, to)}`
  return shift === 0 ? significant : `${significant}e${shift}`
}
