import { checkFindings, type CheckFindings } from '../../../src/internal.ts'

/**
 * What a start does about each check that doctor may call `broken` on RabbitMQ. It refuses a queue that loses messages
 * in normal operation, with every `setup`, because no policy can mend those arguments.
 */
export const AT_START = {
  /** The address, the user or the certificate must change. */
  connection: 'refused',
  queue: 'refused',
  'queue-in-use': {
    startsBecause: 'The queue ends with the connection that has it for itself: the start waits for that, and says so.',
  },
  'queue-type': 'refused',
  durability: 'refused',
  'delivery-limit': 'refused',
  options: 'refused',
  'dead-letter-exchange': 'refused',
  /** A time-out that the option itself sets too short. */
  'consumer-timeout': 'refused',
} as const

type Findings = CheckFindings<keyof typeof AT_START>

const made: Findings = checkFindings('rabbitmq', AT_START)
export const holds: Findings['holds'] = made.holds
export const weaker: Findings['weaker'] = made.weaker
export const weakerByDefault: Findings['weakerByDefault'] = made.weakerByDefault
export const unknown: Findings['unknown'] = made.unknown
export const broken: Findings['broken'] = made.broken
