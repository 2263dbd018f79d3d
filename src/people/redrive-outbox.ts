import { definitionOf } from '../consumer/define-consumer.ts'
import { scopeName } from '../consumer/scope.ts'
import { isPlainText } from '../foundation/shown.ts'
import type { OutboxRefused } from '../ports/outbox.ts'
import type { ConfiguredConsumer } from './config.ts'
import type { Decider } from './decider.ts'
import { noteIn } from './note.ts'
import { outboxOf } from './outbox-of.ts'

export interface OutboxRedriven {
  /** How many had still been refused. */
  readonly redriven: number
  /** The audit has it. */
  readonly isNoted: boolean
}

/**
 * Has messages tried now that were refused, parked ones too, by the relay of any process. First the audit gets a note of
 * each: nothing else is left of it when it is published.
 *
 * @throws ConfigError `CONFIG_INVALID` for a consumer without an outbox, and for a text that the audit cannot store
 */
export async function redriveOutbox(
  { consumer, subscription }: Pick<ConfiguredConsumer, 'consumer' | 'subscription'>,
  refused: readonly OutboxRefused[],
  { by, reason }: Decider,
): Promise<OutboxRedriven> {
  const outbox = outboxOf(consumer)
  const definition = definitionOf(consumer)
  const scope = scopeName(definition, subscription.group)
  let isNoted = true
  for (const row of refused) {
    const note = { what: 'redrive', about: aboutOf(row), by, reason }
    isNoted = (await noteIn(definition.store.admin, scope, note)) && isNoted
  }
  return { redriven: await outbox.redrive(refused.map(({ id }) => id)), isNoted }
}

const LONGEST = 200

function aboutOf({ id, place, messageId }: OutboxRefused): string {
  const about = `outbox ${id}: ${messageId} to ${place}`.slice(0, LONGEST)
  return isPlainText(about) ? about : `outbox ${id}`
}
