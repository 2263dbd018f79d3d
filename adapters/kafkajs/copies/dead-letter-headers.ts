import type { DeadLetter } from '../../../src/spi.ts'
import { bounded, KEY_HEADER, keptHeaders, toHeaders } from './copy-headers.ts'
import { ORIGIN_HEADER, type HeaderEntry, type ProducedHeaders } from './headers.ts'
import type { DeadLetterHeaders } from '../options/options.ts'
import { firstFailureHeader, originHeaders, originOf, springOriginHeaders } from './origin.ts'

/** The unchanged headers of the original, plus where it comes from, why it is here, and its number of attempts. */
export function deadLetterHeaders(deadLetter: DeadLetter, style: DeadLetterHeaders, at: Date): ProducedHeaders {
  return toHeaders(keptHeaders(deadLetter.message), necessary(deadLetter, style, at), explanation(deadLetter, style))
}

/** The headers that a copy must have, for a message that is too large with all of them. */
export function minimalHeaders(deadLetter: DeadLetter, style: DeadLetterHeaders, at: Date): ProducedHeaders {
  const trace = keptHeaders(deadLetter.message).filter(([name]) => name === 'traceparent')
  return toHeaders(trace, necessary(deadLetter, style, at))
}

function necessary(deadLetter: DeadLetter, style: DeadLetterHeaders, at: Date): readonly HeaderEntry[] {
  const { message, key, reason, parked, attempts, group, setAsideAt } = deadLetter
  const origin = originOf(message)
  return [
    ...(style === 'own' ? [] : springOriginHeaders(origin)),
    ...(style === 'own' ? [] : [['kafka_dlt-original-consumer-group', bounded(group)] as const]),
    ...(style === 'spring' ? [] : originHeaders(origin)),
    ...(style === 'spring' ? [] : [['x-consumer-group', bounded(group)] as const]),
    // Part of the scope of keys: without it, a dead letter that is sent back would count as another message.
    [ORIGIN_HEADER, origin.topic],
    ['x-original-key-present', String(message.key !== null)],
    ...(key === undefined ? [] : [[KEY_HEADER, key] as const]),
    ['x-dead-letter-reason', bounded(reason)],
    ...(parked ? [['x-parked', 'true'] as const] : []),
    ['x-dead-lettered-at', at.toISOString()],
    ...(setAsideAt === undefined ? [] : [['x-set-aside-at', new Date(setAsideAt).toISOString()] as const]),
    ...firstFailureHeader(message, deadLetter.firstFailureAt ?? at.getTime()),
    ['x-attempts', String(attempts)],
  ]
}

function explanation(deadLetter: DeadLetter, style: DeadLetterHeaders): readonly HeaderEntry[] {
  const { consumer, detail, errorClass } = deadLetter
  const names = [
    ...(style === 'spring' ? [] : [{ text: 'x-error-message', name: 'x-error-class' }]),
    ...(style === 'own' ? [] : [{ text: 'kafka_dlt-exception-message', name: 'kafka_dlt-exception-fqcn' }]),
  ]
  return [
    ['x-consumer', bounded(consumer)],
    ...names.map(({ text }) => [text, bounded(detail)] as const),
    ...names.flatMap(({ name }) => (errorClass === undefined ? [] : [[name, bounded(errorClass)] as const])),
  ]
}
