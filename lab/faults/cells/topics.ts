import type { BrokerName, Cell } from '../cell.ts'
import { cellsOfWhole, type Made } from './table.ts'
import type { Fault } from '../fault.ts'

const DELETED: Fault = { kind: 'delete-topic', at: 'settled' }

/** F20: only Kafka has topics. */
export const TOPICS: readonly Cell[] = [
  // One topic of the group is gone: the messages of the others are handled.
  ...cellsOfWhole('F20', 'source-deleted', { inbox: '1', 'lease-rerun': '1' }, (broker) =>
    onKafka(broker, { fault: DELETED, beside: 'second topic', mustReport: 'topic-missing' }),
  ),
  ...cellsOfWhole('F20', 'retry-deleted', { inbox: '1', 'lease-rerun': '1' }, (broker) =>
    onKafka(broker, { fault: DELETED, beside: 'retry topic', mustReport: 'retry-topic' }),
  ),
  // A stored position means nothing in another log, even if that log has grown past it.
  ...cellsOfWhole('F20', 'created-anew', { offsets: '1' }, (broker) =>
    onKafka(broker, { fault: { kind: 'recreate-topic', at: 'settled' }, neighbours: 3 }),
  ),
]

function onKafka(broker: BrokerName, made: Made): Made | undefined {
  return broker === 'kafka' ? made : undefined
}
