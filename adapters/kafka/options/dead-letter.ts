import { either, func, isTopicName, object, oneOf, or, where, type Rule, type Table } from '../../../src/internal.ts'
import type { KafkaDeadLetter } from './options.ts'

type NameOf = (origin: string) => string

/** The name of a topic, or a function of the origin. */
export const TOPIC: Rule<string | NameOf> = either(where<string>('the name of a topic', isTopicName), func<NameOf>())

const TABLE: Table<KafkaDeadLetter> = {
  topic: or((origin: string): string => `${origin}.dead-letter`, TOPIC),
  headers: or('own', oneOf('own', 'spring', 'both')),
}

export const DEAD_LETTER: Rule<KafkaDeadLetter> = object(TABLE)
