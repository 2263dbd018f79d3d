import { eachOnce, withDuplicates, type Deliveries } from './duplicates.ts'
import type { Plan } from './plans.ts'

/** Topics or queues of one repetition. They go with it. */
export interface Places extends AsyncDisposable {
  /** Name of a place with these messages of 1 KB, none of them consumed. The same ones in every call of a repetition. */
  filled(deliveries: Deliveries): Promise<string>
}

/** Deliveries that a place with `messages` messages holds. */
export function deliveriesOf(plan: Plan | undefined, messages: number): Deliveries {
  return plan?.duplicates === true ? withDuplicates(messages) : eachOnce(messages)
}
