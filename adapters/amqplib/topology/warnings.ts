import type { CheckFinding } from '../../../src/internal.ts'

/** A finding with which a consumer starts, as an event. */
export interface Warning {
  readonly event:
    | 'delivery-limit'
    | 'message-limits'
    | 'dead-letter-strategy'
    | 'single-active-consumer'
    | 'delay-queue'
    | 'queue-mismatch'
    | 'queue-unknown'
  readonly detail: string
}

/** Events by check and verdict. Without an entry a start says nothing: doctor shows it. */
const EVENTS: Readonly<Record<string, Warning['event']>> = {
  'rabbitmq.delivery-limit weaker': 'delivery-limit',
  'rabbitmq.message-limits weaker': 'message-limits',
  'rabbitmq.dead-letter-strategy weaker': 'dead-letter-strategy',
  'rabbitmq.single-active-consumer weaker': 'single-active-consumer',
  'rabbitmq.delay-queue weaker': 'delay-queue',
  'rabbitmq.options unknown': 'queue-mismatch',
  'rabbitmq.queue weaker': 'queue-mismatch',
  'rabbitmq.dead-letter-exchange weaker': 'queue-mismatch',
  'rabbitmq.queue unknown': 'queue-unknown',
}

export function warningsIn(findings: readonly CheckFinding[]): Warning[] {
  return findings.flatMap(({ check, verdict, found, meaning }) => {
    const event = EVENTS[`${check} ${verdict}`]
    return event === undefined ? [] : [{ event, detail: `${found}. ${meaning}` }]
  })
}
