import {
  COPY_HEADER,
  copyText,
  deadLetterIn as ownFactsIn,
  type DeadLetterFacts,
  type EpochMs,
} from '../../../src/internal.ts'
import { carriedName, headerText } from '../message/headers.ts'
import type { FirstPublication } from '../message/message.ts'
import { textOfDestination } from './destination.ts'

type Headers = Readonly<Record<string, unknown>>

export interface DeadLetter {
  readonly by: 'library' | 'broker' | 'spring'
  readonly facts: DeadLetterFacts
  readonly first: FirstPublication
}

/**
 * What the headers of a dead letter tell: those of this library, those of the broker (`x-death`), or those of Spring's
 * `RepublishMessageRecoverer`, in this order. `undefined`: no header says that it is a dead letter.
 */
export function deadLetterIn(headers: Headers): DeadLetter | undefined {
  const deaths = deathsIn(headers)
  const own = ownFactsIn(headers)
  if (own !== undefined) {
    const first = originIn(headers)
    return { by: 'library', facts: { ...own, destination: destinationOf(first) }, first }
  }
  const [latest] = deaths
  // A copy whose delay is over: the broker moved it back to its queue.
  const isDelayed = latest?.queue !== undefined && latest.queue === copyText(headers, COPY_HEADER.delayQueue)
  if (latest !== undefined && !isDelayed) return brokerDeadLetter(headers, deaths)
  return springDeadLetter(headers)
}

/** The broker puts the latest death first. `x-first-death-queue` stays that of the first one. */
function brokerDeadLetter(headers: Headers, deaths: readonly Death[]): DeadLetter {
  const [latest] = deaths
  const own = originIn(headers)
  const firstQueue = carriedName(headers, 'x-first-death-queue')
  const earliest = deaths.findLast(({ queue }) => queue === firstQueue) ?? deaths.at(-1)
  const first = {
    queue: own.queue ?? firstQueue ?? earliest?.queue,
    exchange: own.exchange ?? earliest?.exchange,
    routingKey: own.routingKey ?? earliest?.routingKey,
  }
  const facts = {
    reason: latest?.reason ?? headerText(headers, 'x-first-death-reason'),
    parked: false,
    since: latest?.at,
    consumer: undefined,
    group: undefined,
    destination: destinationOf(first),
  }
  return { by: 'broker', facts, first }
}

function springDeadLetter(headers: Headers): DeadLetter | undefined {
  const exchange = carriedName(headers, 'x-original-exchange')
  const routingKey = carriedName(headers, 'x-original-routingKey')
  if (exchange === undefined || routingKey === undefined) return undefined
  const first = { exchange, routingKey, queue: exchange === '' ? routingKey : undefined }
  const unknown = { reason: undefined, since: undefined, consumer: undefined, group: undefined }
  return { by: 'spring', facts: { ...unknown, parked: false, destination: destinationOf(first) }, first }
}

/** A queue if it is known: through the exchange other queues would get the message too. */
function destinationOf({ queue, exchange, routingKey }: FirstPublication): string | undefined {
  if (queue !== undefined) return textOfDestination({ exchange: '', routingKey: queue })
  if (exchange === undefined || exchange === '' || routingKey === undefined) return undefined
  return textOfDestination({ exchange, routingKey })
}

/** What an earlier copy of this library tells. */
export function originIn(headers: Headers): FirstPublication {
  return {
    queue: nonEmpty(carriedName(headers, COPY_HEADER.originQueue)),
    exchange: carriedName(headers, COPY_HEADER.originExchange),
    routingKey: carriedName(headers, COPY_HEADER.originRoutingKey),
  }
}

interface Death {
  readonly queue: string | undefined
  readonly exchange: string | undefined
  readonly routingKey: string | undefined
  readonly reason: string | undefined
  readonly at: EpochMs | undefined
}

/** The header may be forged: anything that is not as the broker writes it is left out. */
function deathsIn(headers: Headers): readonly Death[] {
  const deaths = Object.hasOwn(headers, 'x-death') ? headers['x-death'] : undefined
  if (!Array.isArray(deaths)) return []
  return deaths.filter(isTable).map((death) => {
    const keys = death['routing-keys']
    const [routingKey] = Array.isArray(keys) ? (keys as readonly unknown[]) : []
    return {
      queue: nonEmpty(carriedName(death, 'queue')),
      exchange: carriedName(death, 'exchange'),
      routingKey: carriedName({ routingKey }, 'routingKey'),
      reason: carriedName(death, 'reason'),
      at: secondsIn(death['time']),
    }
  })
}

/** amqplib decodes a timestamp inside of a table as `{ '!': 'timestamp', value }`. */
function secondsIn(time: unknown): EpochMs | undefined {
  const value = isTable(time) ? time['value'] : time
  return typeof value === 'number' && Number.isSafeInteger(value * 1000) ? value * 1000 : undefined
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text
}

function isTable(value: unknown): value is Headers {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
