import type { HandlerContext, Store } from '../../../src/index.ts'
import type { Effect } from '../effects.ts'

/** The store of a demo, and how its effects happen. */
export interface DemoStore {
  readonly store: Store<unknown>
  /** The effect of one message, through `ctx.tx` if there is one. */
  readonly handle: (context: HandlerContext<unknown, unknown>) => void | Promise<void>
  /** Every effect of all runs on this state. */
  effects(): Promise<readonly Effect[]>
  /** Where the state is stored, for people. */
  readonly place: string
  close(): Promise<void>
}
