import { limitedText } from './bounded.ts'
import { badRequest, HttpError } from './http-error.ts'

const LONGEST_TEXT = 2_000
const LARGEST_BODY = 1_000_000

/** Fields of a query or a JSON body, each looked at once. The methods throw HttpError 400. */
export class Params {
  readonly #fields: Readonly<Record<string, unknown>>

  static ofQuery(query: URLSearchParams): Params {
    return new Params(Object.fromEntries(query))
  }

  /** @throws HttpError 400, 413 */
  static async ofBody(request: Request): Promise<Params> {
    const tooLarge = (): HttpError => new HttpError(413, 'HTTP_TOO_LARGE', `expected at most ${LARGEST_BODY} bytes`)
    if (Number(request.headers.get('content-length') ?? 0) > LARGEST_BODY) throw tooLarge()
    const text = await limitedText(request.body, LARGEST_BODY, tooLarge)
    let body: unknown
    try {
      body = JSON.parse(text)
    } catch {
      throw badRequest('expected a JSON object as body')
    }
    if (typeof body !== 'object' || body === null || Array.isArray(body)) {
      throw badRequest('expected a JSON object as body')
    }
    return new Params(body as Readonly<Record<string, unknown>>)
  }

  private constructor(fields: Readonly<Record<string, unknown>>) {
    this.#fields = fields
  }

  /** @throws HttpError 400 for a name that is not one of `known` */
  checkNames(known: object, of = ''): void {
    const unknown = Object.keys(this.#fields).filter((name) => !Object.hasOwn(known, name))
    if (unknown.length === 0) return
    const names = Object.keys(known).join(', ')
    throw badRequest(`${of}${unknown[0]}: unknown; expected ${names === '' ? 'no field' : `one of ${names}`}`)
  }

  text(name: string): string {
    const value = this.maybeText(name)
    if (value === undefined || value === '') throw badRequest(`${name}: expected a text, got nothing`)
    return value
  }

  maybeText(name: string): string | undefined {
    const value = this.#get(name)
    if (value === undefined) return undefined
    if (typeof value !== 'string' || value.length > LONGEST_TEXT) {
      throw badRequest(`${name}: expected a text of at most ${LONGEST_TEXT} characters`)
    }
    return value
  }

  oneOf<const T extends string>(name: string, values: readonly T[]): T {
    const value = this.maybeOneOf(name, values)
    if (value === undefined) throw badRequest(`${name}: expected one of ${values.join(', ')}, got nothing`)
    return value
  }

  maybeOneOf<const T extends string>(name: string, values: readonly T[]): T | undefined {
    const value = this.#get(name)
    if (value === undefined) return undefined
    const found = values.find((one) => one === value)
    if (found === undefined) throw badRequest(`${name}: expected one of ${values.join(', ')}`)
    return found
  }

  /** A number, or its text in a query. */
  maybeNumber(name: string, { least, most }: { readonly least: number; readonly most: number }): number | undefined {
    const value = this.#get(name)
    if (value === undefined) return undefined
    const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
    if (typeof number !== 'number' || !(number >= least && number <= most)) {
      throw badRequest(`${name}: expected a number from ${least} to ${most}`)
    }
    return number
  }

  maybeWhole(name: string, bounds: { readonly least: number; readonly most: number }): number | undefined {
    const value = this.maybeNumber(name, bounds)
    if (value !== undefined && !Number.isSafeInteger(value)) throw badRequest(`${name}: expected a whole number`)
    return value
  }

  maybeOffset(name: string): bigint | undefined {
    const value = this.maybeText(name)
    if (value === undefined) return undefined
    if (!/^\d{1,18}$/.test(value)) throw badRequest(`${name}: expected an offset as text`)
    return BigInt(value)
  }

  maybeTexts(name: string, most: number): readonly string[] | undefined {
    const value = this.#get(name)
    if (value === undefined) return undefined
    if (!Array.isArray(value) || value.length > most || value.some((one) => typeof one !== 'string')) {
      throw badRequest(`${name}: expected a list of at most ${most} texts`)
    }
    return value as readonly string[]
  }

  /** With these fields at most. */
  maybeObject(name: string, known: object): Params | undefined {
    const value = this.#get(name)
    if (value === undefined) return undefined
    if (typeof value !== 'object' || Array.isArray(value)) throw badRequest(`${name}: expected an object`)
    const params = new Params(value as Readonly<Record<string, unknown>>)
    params.checkNames(known, `${name}.`)
    return params
  }

  maybeTrue(name: string): boolean | undefined {
    const value = this.#get(name)
    if (value === undefined || typeof value === 'boolean') return value
    throw badRequest(`${name}: expected true or false`)
  }

  #get(name: string): string | number | boolean | object | undefined {
    return Object.hasOwn(this.#fields, name) ? ((this.#fields[name] as object | null) ?? undefined) : undefined
  }
}
