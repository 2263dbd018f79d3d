import type { Moment } from '../cell.ts'
import type { Scene, Struck } from '../harm.ts'
import { restartBroker } from './broker.ts'
import { bringStoreBack } from './store-away.ts'
import { deleteBeside, holdThenRelease, recreate } from './topics.ts'
import * as postgres from './postgres.ts'
import * as redis from './redis.ts'
import { spoilRecord } from './spoil-record.ts'
import { fateWith, type Then } from './then.ts'

/** What is done to a server; the cell has it for itself. */
export type ServerHarm =
  /** Redis answers nothing for twice the lease. */
  | { readonly kind: 'freeze-redis'; readonly at: Moment }
  /** Redis loses all it holds: it is killed and starts with nothing, or somebody flushes it. */
  | (Then & { readonly kind: 'lose-records'; readonly at: Moment; readonly how: 'emptied' | 'flushed' })
  /** Before the bytes of the moment go on, the record becomes one that the store cannot read. */
  | { readonly kind: 'spoil-record'; readonly at: 'delivered' | 'claim sent'; readonly how: Spoilt }
  /**
   * Redis is killed, and a replica promoted that has nothing of what was written from `lagsFrom` on; without it, the replica has all
   * that was waited for.
   */
  | (Then & { readonly kind: 'promote-redis'; readonly lagsFrom?: Moment; readonly at: Moment })
  /** The broker is gone, and starts again on its data. */
  | { readonly kind: 'restart-broker'; readonly at: Moment }
  /** The topic that the worker consumes beside is deleted. */
  | { readonly kind: 'delete-topic'; readonly at: Moment }
  /**
   * The topic is deleted and created anew. When the worker has seen that, and more was sent than the old topic held, the worker is killed
   * and replaced; when the next one has seen it too, a person lets the partition begin anew.
   */
  | { readonly kind: 'recreate-topic'; readonly at: Moment }
  /** The first worker cannot reach its store from its start until some time after the moment. */
  | { readonly kind: 'store-away'; readonly at: 'delivered' }
  /** All connections of the worker to Postgres are ended by an administrator, before what was on its way goes on. */
  | { readonly kind: 'terminate-backends'; readonly at: Moment }
  /** An immediate shutdown of Postgres, which then starts again on its data. */
  | { readonly kind: 'restart-postgres'; readonly at: Moment }
  /** As `promote-redis`. */
  | (Then & { readonly kind: 'promote-postgres'; readonly lagsFrom: Moment; readonly at: Moment })

/** `other-type`: a key of another type. `cut-off`: a part of a record. `newer`: a state that no version knows yet. */
export type Spoilt = 'other-type' | 'cut-off' | 'newer'

type Promotion = Extract<ServerHarm, { kind: 'promote-redis' | 'promote-postgres' }>

/** At the moment from which the replica lags: it has all that came before. */
export function strikeBefore({ kind }: Promotion, scene: Scene): Struck {
  const healed = kind === 'promote-redis' ? redis.leaveBehind(scene) : postgres.leaveBehind(scene)
  return { fate: 'hold', healed }
}

export function strikeServer(harm: ServerHarm, scene: Scene): Struck {
  switch (harm.kind) {
    case 'freeze-redis':
      return { fate: 'pass', healed: redis.freeze(scene) }
    case 'lose-records':
      if (harm.how === 'emptied') return { fate: fateWith(harm, 'pass', scene), healed: redis.empty(harm, scene) }
      return { fate: fateWith(harm, 'hold', scene), healed: redis.flush(harm, scene) }
    case 'spoil-record':
      return { fate: 'hold', healed: spoilRecord(harm, scene) }
    case 'promote-redis':
      return { fate: fateWith(harm, 'pass', scene), healed: redis.promote(harm, scene) }
    case 'restart-broker':
      return { fate: 'pass', healed: restartBroker(scene) }
    case 'delete-topic':
      return { fate: 'pass', healed: deleteBeside(scene) }
    case 'recreate-topic':
      return { fate: 'pass', healed: recreate(scene), afterwards: () => holdThenRelease(scene) }
    case 'store-away':
      return { fate: 'pass', healed: bringStoreBack(scene) }
    case 'terminate-backends':
      return { fate: 'hold', healed: postgres.terminate(scene) }
    case 'restart-postgres':
      return { fate: 'pass', healed: postgres.restart(scene) }
    case 'promote-postgres':
      return { fate: fateWith(harm, 'hold', scene), healed: postgres.promote(harm, scene) }
  }
}
