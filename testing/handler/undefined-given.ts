import type { TxCall } from './tx-call.ts'

/** A field that the payload does not have: what a client or a broker makes of it breaks nothing in a test. */
export const NO_SUCH_FIELD = 'the payload may have no such field'

/** Of pg and of mysql2. Calls of ORMs take objects, in which `undefined` may stand for the default of a column. */
const STATEMENTS: readonly string[] = ['query', 'execute']
const LONGEST_SHOWN = 60

/** Why the values of a statement are not what is meant. `undefined`: none of them is missing. */
export function whyNoValues({ method, args: [statement, given] }: TxCall): string | undefined {
  if (!STATEMENTS.includes(method)) return undefined
  const { text, sql = text, values } = objectOf(statement)
  const list: unknown = Array.isArray(given) ? given : values
  if (!Array.isArray(list)) return undefined
  const at = list.findIndex(hasUndefined)
  if (at === -1) return undefined
  const what = list[at] === undefined ? 'is undefined' : 'has undefined in it'
  const shown = JSON.stringify(shortened(typeof statement === 'string' ? statement : sql))
  return (
    `value number ${at + 1} of tx.${method}(${shown}) ${what}, which a client writes as NULL or refuses: expected a value. ` +
    `${capital(NO_SUCH_FIELD)}. Where NULL is meant, give null`
  )
}

/** In a list of rows too, as mysql2 takes it. */
function hasUndefined(value: unknown): boolean {
  return value === undefined || (Array.isArray(value) && value.findIndex(hasUndefined) !== -1)
}

/** Optional in a message: one that was given is meant. */
const MEANT = ['key', 'messageId', 'order'] as const

/** Why a message to publish is not what is meant. `undefined`: nothing of it is missing. */
export function whyNoMessage(message: unknown): string | undefined {
  const given = objectOf(message)
  const headers = Object.entries(objectOf(given['headers'])).find(([, value]) => value === undefined)
  const name =
    MEANT.find((one) => Object.hasOwn(given, one) && given[one] === undefined) ??
    (headers && `the header ${JSON.stringify(headers[0])}`)
  if (name === undefined) return undefined
  const { topic, exchange, routingKey } = given
  const place = [topic, exchange, routingKey].filter((part) => typeof part === 'string' && part !== '').join('/')
  return (
    `publish to ${place}: ${name} is undefined, so the message would go out without it: expected a value. ` +
    `${capital(NO_SUCH_FIELD)}. Where none is meant, ${name === 'key' ? 'give null' : 'leave it out'}`
  )
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
}

function shortened(statement: unknown): string {
  const text = String(statement).replaceAll(/\s+/g, ' ').trim()
  return text.length <= LONGEST_SHOWN ? text : `${text.slice(0, LONGEST_SHOWN)}…`
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
