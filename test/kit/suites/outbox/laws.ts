import { itKeepsTheOrder } from './order.ts'
import { itPublishesWhatCommitted } from './publishing.ts'
import { itTellsWhatWaits } from './telling.ts'
import type { OutboxUse } from './use.ts'

/** What every outbox keeps to. */
export function itKeepsToTheLaws<Tx>(use: OutboxUse<Tx>): void {
  itPublishesWhatCommitted(use)
  itKeepsTheOrder(use)
  itTellsWhatWaits(use)
}
