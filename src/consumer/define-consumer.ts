import { ConfigError } from '../foundation/errors.ts'
import type { ConsumerOptions } from './options.ts'
import { resolveOptions, type ResolvedConsumer } from './resolve-options.ts'

const DEFINITION: unique symbol = Symbol('consume-once.definition')

/** A checked definition. Run it with `runKafka`, `runRabbit` or, for a source of your own, `runConsumer`. */
export interface Consumer {
  readonly name: string
  readonly [DEFINITION]: ResolvedConsumer
}

/**
 * Defines a consumer: how to identify a message, where to keep records, and the handler.
 *
 * @throws ConfigError `CONFIG_INVALID`, with all problems at once
 */
export function defineConsumer<Decoded = unknown, Payload = Decoded, Tx = never>(
  options: ConsumerOptions<Decoded, Payload, Tx>,
): Consumer {
  const definition = resolveOptions(options)
  return Object.freeze({ name: definition.name, [DEFINITION]: definition })
}

/** The same consumer with other resolved options. Internal. */
export function redefined(consumer: Consumer, changes: Partial<ResolvedConsumer>): Consumer {
  return Object.freeze({ name: consumer.name, [DEFINITION]: { ...definitionOf(consumer), ...changes } })
}

/**
 * The resolved options of a consumer. Internal.
 * @throws ConfigError `CONFIG_INVALID` if `consumer` is not the result of `defineConsumer`
 */
export function definitionOf(consumer: Consumer): ResolvedConsumer {
  const definition = (consumer as Partial<Consumer> | null | undefined)?.[DEFINITION]
  if (definition === undefined) {
    throw new ConfigError([`consumer: ${notDefined(consumer, consumer === null ? 'null' : typeof consumer)}`])
  }
  return definition
}

/** What is wrong with a consumer that has no definition here. Internal. */
export function notDefined(consumer: unknown, got: string): string {
  const symbols = Object.getOwnPropertySymbols(Object(consumer))
  const isOfAnotherCopy = symbols.some(({ description }) => description === DEFINITION.description)
  return `expected what defineConsumer() returned, got ${isOfAnotherCopy ? OF_ANOTHER_COPY : got}`
}

const OF_ANOTHER_COPY = 'that of another copy of consume-once; npm ls consume-once, then npm dedupe'
