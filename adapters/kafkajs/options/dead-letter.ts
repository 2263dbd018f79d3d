import { checkNames, checkObject, checkOneOf } from '../../../src/spi.ts'
import type { KafkaDeadLetter } from './options.ts'

/** The only place that defines defaults of `deadLetter`. */
const DEFAULTS = { topic: (origin: string): string => `${origin}.dead-letter`, headers: 'own' } as const

const KNOWN: Record<keyof KafkaDeadLetter, true> = { topic: true, headers: true }

export function resolveDeadLetter(
  deadLetter: KafkaDeadLetter | undefined,
  of: string,
  problems: string[],
): Required<KafkaDeadLetter> {
  if (deadLetter === undefined) return DEFAULTS
  const given = checkObject<KafkaDeadLetter>('deadLetter', deadLetter, problems)
  checkNames('deadLetter.', given, { of, known: KNOWN }, problems)
  const { topic = DEFAULTS.topic, headers = DEFAULTS.headers } = given
  checkOneOf('deadLetter.headers', headers, ['own', 'spring', 'both'], problems)
  return { topic, headers }
}
