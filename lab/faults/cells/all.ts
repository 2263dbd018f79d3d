import type { Cell } from '../cell.ts'
import { BROKER_RESTART } from './broker.ts'
import { CHANNEL, CHANNEL_AGAIN, COMMIT, REBALANCE } from './channel.ts'
import { CLOCK } from './clock.ts'
import { CROWDED } from './crowd.ts'
import { CRASH } from './crash.ts'
import { HANDLER, POISON } from './handler.ts'
import { BLACK_HOLE, REPLY_LOST, REQUEST_LOST } from './lost.ts'
import { PAUSE } from './pause.ts'
import { BACKEND, TAIL_LOST } from './postgres.ts'
import { CUT_OFF } from './cut-off.ts'
import { CUT_OFF_FOR_GOOD } from './cut-off-for-good.ts'
import { FORGETTING, FROZEN } from './redis.ts'
import { UNREADABLE } from './unreadable.ts'
import { STORE_AWAY } from './store-away.ts'
import { STOP } from './stop.ts'
import { TOPICS } from './topics.ts'
import { TRANSACTIONAL } from './transactions.ts'
import { RETENTION } from './retention.ts'
import { FURTHER } from './strategies.ts'

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
