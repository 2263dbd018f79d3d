import type { HandlerContext, Store } from '../../../src/index.ts'
import type { Effect } from '../effects.ts'

/** Where a demo keeps its records, and how its effects happen there. */
export interface DemoStore {
  readonly store: Store<unknown>
  /** The effect of one message: through `ctx.tx` where there is one. */
  readonly handle: (context: HandlerContext<unknown, unknown>) => void | Promise<void>
  /** Every effect of all runs on this state. */
  effects(): Promise<readonly Effect[]>
  /** Where the state lies, for people. */
  readonly place: string
  close(): Promise<void>
}
