import { TerminalError } from '../foundation/errors.ts'
import type { Store } from '../ports/store.ts'

/** No attempts are spent on a handler that publishes where nothing can keep it. */
export function withoutOutbox({ strategy }: Pick<Store<unknown>, 'strategy'>): TerminalError {
  return new TerminalError(
    strategy === 'lease'
      ? 'ctx.publish: expected a store with a transaction and an outbox, such as postgresInbox({ pool, outbox }), got a lease, which has no transaction. Publish with confirmedPublisher() under an ID that is made of ctx.idempotencyKey, and let the next consumer drop repeats'
      : 'ctx.publish: expected a store with an outbox, got one without: postgresInbox({ pool, outbox: postgresOutbox({ pool, publishers }) })',
  )
}
