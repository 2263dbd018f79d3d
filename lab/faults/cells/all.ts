import type { Cell } from '../cell.ts'
import { FURTHER } from './strategies.ts'
import { CROWDED, HANDLER, POISON, TOPICS, TRANSACTIONAL } from './messages.ts'
import {
  BLACK_HOLE,
  BROKER_RESTART,
  CHANNEL,
  CHANNEL_AGAIN,
  COMMIT,
  CUT_OFF,
  CUT_OFF_FOR_GOOD,
  REBALANCE,
  REPLY_LOST,
  REQUEST_LOST,
} from './network.ts'
import { CLOCK, CRASH, PAUSE, STOP } from './process.ts'
import { BACKEND, FORGETTING, FROZEN, RETENTION, STORE_AWAY, TAIL_LOST, UNREADABLE } from './servers.ts'

/** Ordered by family of faults. */
export const CELLS: readonly Cell[] = [
  ...CRASH,
  ...PAUSE,
  ...REQUEST_LOST,
  ...REPLY_LOST,
  ...BLACK_HOLE,
  ...CHANNEL,
  ...CHANNEL_AGAIN,
  ...BROKER_RESTART,
  ...FROZEN,
  ...FORGETTING,
  ...BACKEND,
  ...TAIL_LOST,
  ...COMMIT,
  ...REBALANCE,
  ...CLOCK,
  ...HANDLER,
  ...RETENTION,
  ...POISON,
  ...CROWDED,
  ...FURTHER,
  ...CUT_OFF,
  ...UNREADABLE,
  ...TOPICS,
  ...STORE_AWAY,
  ...CUT_OFF_FOR_GOOD,
  ...STOP,
  ...TRANSACTIONAL,
]
