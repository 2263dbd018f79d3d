import { BrokerError, describeError, isConsumeOnceError } from '../../src/spi.ts'
import { isAnswer } from './protocol-error.ts'

/** The error of a first start that gives up. */
export function unreachable(group: string, error: unknown): Error {
  if (isConsumeOnceError(error)) return error
  const advice = isAnswer(error)
    ? ''
    : '. Check that the brokers given to Kafka() are up and can be reached from here, also under the address they advertise'
  const text = `group ${group} could not join: ${describeError(error)}${advice}`
  return new BrokerError('BROKER_UNREACHABLE', text, { cause: error })
}
