import { BrokerError, describeError, isConsumeOnceError } from '../../src/internal.ts'
import { isAnswer } from './protocol-error.ts'

/** kafkajs says of several topics only that one was refused: why is in its errors. */
function described(error: unknown): string {
  const { errors } = (error ?? {}) as { readonly errors?: unknown }
  const each = Array.isArray(errors) ? [...new Set(errors.map(describeError))] : []
  return each.length === 0 ? describeError(error) : `${describeError(error)} (${each.join('; ')})`
}

/** Clients wrap the reason once or several times: `connect ECONNREFUSED 127.0.0.1:9092`. */
function reasonOf(error: unknown): string | undefined {
  let reason: string | undefined
  const seen = new Set<unknown>()
  const waiting = [error]
  for (let next = waiting.shift(); next !== undefined && seen.size < 20; next = waiting.shift()) {
    if (typeof next !== 'object' || next === null || seen.has(next)) continue
    seen.add(next)
    const { cause, errors, message } = next as { cause?: unknown; errors?: unknown; message?: unknown }
    if (typeof message === 'string' && message !== '') reason = message
    waiting.push(...(Array.isArray(errors) ? errors : []), cause)
  }
  return reason
}

/** The error of a first start that gives up. */
export function unreachable(group: string, error: unknown): Error {
  if (isConsumeOnceError(error)) return error
  const advice = isAnswer(error)
    ? ''
    : '. Check that the brokers given to the client are up and can be reached from here, also under the address they advertise, with its TLS and SASL settings'
  const told = described(error).replace(/\.+$/, '')
  const reason = reasonOf(error)?.replace(/\.+$/, '')
  const why = reason === undefined || told.includes(reason) ? '' : ` (${reason})`
  const text = `group ${group} could not join: ${told}${why}${advice}`
  return new BrokerError('BROKER_UNREACHABLE', text, { cause: error })
}
