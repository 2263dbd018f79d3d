import { identityOf } from '../../src/identity/digest.ts'
import { keyScope } from '../../src/consumer/scope.ts'

/** The consumer that all workers run. */
export const CONSUMER = 'faults'

/** Key of the record of a message. `origin` is the topic, or the queue again. */
export function keyOf(group: string, origin: string, id: string): string {
  return identityOf(keyScope({ name: CONSUMER, scope: undefined }, group, origin), Buffer.from(id)).key
}
