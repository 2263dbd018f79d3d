import { definitionOf, type Consumer } from '../consumer/define-consumer.ts'
import { ConfigError } from '../foundation/errors.ts'
import type { Outbox } from '../ports/outbox.ts'

/**
 * The outbox into which the handlers of a consumer publish: what waits in it, what is parked, and its relay.
 *
 * @throws ConfigError `CONFIG_INVALID` for a consumer whose store has none
 */
export function outboxOf(consumer: Consumer): Outbox {
  const { name, store } = definitionOf(consumer)
  if (store.outbox !== undefined) return store.outbox
  const text = 'store: expected one with an outbox, such as postgresInbox({ pool, outbox }), got one without'
  throw new ConfigError([`consumer ${JSON.stringify(name)}: ${text}`])
}
