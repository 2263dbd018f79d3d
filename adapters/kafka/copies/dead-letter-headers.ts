import { boundedText, COPY_HEADER, isoTime, type DeadLetter } from '../../../src/internal.ts'
import { identification, keptHeaders, toHeaders } from './copy-headers.ts'
import type { HeaderEntry, ProducedHeaders } from './headers.ts'
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
  const { message, reason, parked, group, setAsideAt } = deadLetter
  const origin = originOf(message)
  return [
    ...(style === 'own' ? [] : springHeaders(deadLetter)),
    ...(style === 'spring' ? [] : originHeaders(origin)),
    ...(style === 'spring' ? [] : [[COPY_HEADER.group, boundedText(group)] as const]),
    // Part of the scope of keys: without it, a dead letter that is sent back would count as another message.
    [COPY_HEADER.originTopic, origin.topic],
    ...identification(deadLetter),
    [COPY_HEADER.reason, boundedText(reason)],
    ...(parked ? [[COPY_HEADER.parked, 'true'] as const] : []),
    [COPY_HEADER.deadLetteredAt, at.toISOString()],
    ...(setAsideAt === undefined ? [] : [[COPY_HEADER.setAsideAt, isoTime(setAsideAt)] as const]),
    ...firstFailureHeader(message, deadLetter.firstFailureAt ?? at.getTime()),
  ]
}

function springHeaders({ message, group }: DeadLetter): readonly HeaderEntry[] {
  return [
    ...springOriginHeaders(originOf(message)),
    ['kafka_dlt-original-consumer-group', boundedText(group)],
    [COPY_HEADER.springHeaders, 'true'],
  ]
}

function explanation(deadLetter: DeadLetter, style: DeadLetterHeaders): readonly HeaderEntry[] {
  const { consumer, detail, errorClass } = deadLetter
  const names = [
    ...(style === 'spring' ? [] : [{ text: COPY_HEADER.detail, name: COPY_HEADER.errorClass }]),
    ...(style === 'own' ? [] : [{ text: 'kafka_dlt-exception-message', name: 'kafka_dlt-exception-fqcn' }]),
  ]
  return [
    [COPY_HEADER.consumer, boundedText(consumer)],
    ...names.map(({ text }) => [text, boundedText(detail)] as const),
    ...names.flatMap(({ name }) => (errorClass === undefined ? [] : [[name, boundedText(errorClass)] as const])),
  ]
}
