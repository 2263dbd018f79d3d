import { ConfigError } from './errors.ts'
import type { ConsumerOptions } from './options.ts'
import { resolveOptions, type ResolvedConsumer } from './resolve-options.ts'

const DEFINITION: unique symbol = Symbol('consume-once.definition')

/** A checked definition. Run it with `runKafka`, `runRabbit` or, for a source of your own, `runConsumer`. */
export interface Consumer {
  readonly name: string
  readonly [DEFINITION]: ResolvedConsumer
}

/**
 * Defines what is to happen once: how a message is told from another, where records live, and the effect.
 *
 * @throws ConfigError `CONFIG_INVALID`, with all problems at once
 */
export function defineConsumer<Decoded = unknown, Payload = Decoded, Tx = never>(
  options: ConsumerOptions<Decoded, Payload, Tx>,
): Consumer {
  const definition = resolveOptions(options)
  return Object.freeze({ name: definition.name, [DEFINITION]: definition })
}

/** What `defineConsumer` was given, resolved. For the shell. @throws ConfigError `CONFIG_INVALID` for anything else */
export function definitionOf(consumer: Consumer): ResolvedConsumer {
  const definition = (consumer as Partial<Consumer> | null | undefined)?.[DEFINITION]
  if (definition === undefined) {
    const got = consumer === null ? 'null' : typeof consumer
    throw new ConfigError([`consumer: expected what defineConsumer() returned, got ${got}`])
  }
  return definition
}
