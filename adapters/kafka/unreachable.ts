import { BrokerError, describeError, isConsumeOnceError } from '../../src/internal.ts'
import { isAnswer } from './protocol-error.ts'

/** kafkajs says of several topics only that one was refused: why is in its errors. */
function described(error: unknown): string {
  const { errors } = (error ?? {}) as { readonly errors?: unknown }
  const each = Array.isArray(errors) ? [...new Set(errors.map(describeError))] : []
  return each.length === 0 ? describeError(error) : `${describeError(error)} (${each.join('; ')})`
}

/** The error of a first start that gives up. */
export function unreachable(group: string, error: unknown): Error {
  if (isConsumeOnceError(error)) return error
  const advice = isAnswer(error)
    ? ''
    : '. Check that the brokers given to Kafka() are up and can be reached from here, also under the address they advertise'
  const text = `group ${group} could not join: ${described(error)}${advice}`
  return new BrokerError('BROKER_UNREACHABLE', text, { cause: error })
}
