import { restartBroker } from './broker.ts'
import { bringStoreBack } from './store-away.ts'
import { deleteBeside, holdThenRelease, recreate } from './topics.ts'
import * as postgres from './postgres.ts'
import * as redis from './redis.ts'
import { spoilRecord } from './spoil-record.ts'
import { actionWith } from './replace-worker.ts'
import type { ServerFault } from '../fault.ts'
import type { Scene, Injection } from './scene.ts'

type Promotion = Extract<ServerFault, { kind: 'promote-redis' | 'promote-postgres' }>

/** Stops replication at the moment `lagsFrom`: the replica keeps all earlier writes. */
export function detachReplica({ kind }: Promotion, scene: Scene): Injection {
  const healed = kind === 'promote-redis' ? redis.leaveBehind(scene) : postgres.leaveBehind(scene)
  return { action: 'hold', healed }
}

export function injectAtServer(fault: ServerFault, scene: Scene): Injection {
  switch (fault.kind) {
    case 'freeze-redis':
      return { action: 'pass', healed: redis.freeze(scene) }
    case 'lose-records':
      if (fault.how === 'emptied')
        return { action: actionWith(fault, 'pass', scene), healed: redis.empty(fault, scene) }
      return { action: actionWith(fault, 'hold', scene), healed: redis.flush(fault, scene) }
    case 'spoil-record':
      return { action: 'hold', healed: spoilRecord(fault, scene) }
    case 'promote-redis':
      return { action: actionWith(fault, 'pass', scene), healed: redis.promote(fault, scene) }
    case 'restart-broker':
      return { action: 'pass', healed: restartBroker(scene) }
    case 'delete-topic':
      return { action: 'pass', healed: deleteBeside(scene) }
    case 'recreate-topic':
      return { action: 'pass', healed: recreate(scene), afterwards: () => holdThenRelease(scene) }
    case 'store-away':
      return { action: 'pass', healed: bringStoreBack(scene) }
    case 'terminate-backends':
      return { action: 'hold', healed: postgres.terminate(scene) }
    case 'restart-postgres':
      return { action: 'pass', healed: postgres.restart(scene) }
    case 'promote-postgres':
      return { action: actionWith(fault, 'hold', scene), healed: postgres.promote(fault, scene) }
  }
}
