// Handlers that do what their message says, and places where the process kills itself.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Store } from '../../../src/index.ts'
import type { Publisher, RetryCopy } from '../../../src/internal.ts'
import { withCalls } from '../../../test/kit/store-with.ts'
import { die as killed, insertEffect } from '../worker/effect.ts'
import type { Worker, WorkerContext, WorkerHooks } from '../worker/module.ts'
import type { CrashPoint, MortalSettings, WorkerEvent, WorkerMessage } from './settings.ts'

export default function mortal(worker: Worker<MortalSettings, WorkerEvent>): WorkerHooks<WorkerMessage> {
  const { store, settings } = worker.spec
  const report = (what: string, about = ''): void => worker.report({ what, about })
  const die = (): Promise<never> => {
    report('dies')
    return killed()
  }
  const dieAt = async (point: CrashPoint): Promise<void> => {
    if (settings.dieAt === point) await die()
  }
  const letGo = worker.ordered('let go')

  const handle = async ({ payload, attempt, tx }: WorkerContext<WorkerMessage>): Promise<void> => {
    const { id, does } = payload
    report('started', `${id} ${attempt}`)
    if (does === 'kill') await die()
    if (does === 'fail' || (does === 'fail once' && attempt === 1)) throw new Error('the message asks for a failure')
    if (does === 'wait') await letGo
    if (does === 'linger') await sleep(100)
    await insertEffect(store, id, tx)
    report('effect', id)
  }
  return {
    consumer: { ...(store.strategy === 'offsets' ? {} : { id: ({ payload }) => payload.id }), handle },
    store: (real) => mortalStore(real, dieAt),
    publisher: (real) => mortalPublisher(real, dieAt),
  }
}

type DieAt = (point: CrashPoint) => Promise<void>

/** A store that is a place to die at. The process is dead before it could answer, or after. */
function mortalStore<Tx>(store: Store<Tx>, dieAt: DieAt): Store<Tx> {
  return withCalls(store, {
    claim: async (request) => {
      const answers = await store.claim(request)
      await dieAt('before the handler')
      return answers
    },
    release: async (claims, how) => {
      const verdicts = await store.release(claims, how)
      await dieAt('after the release')
      return verdicts
    },
    mark: async (claims) => {
      await dieAt('before the mark')
      const verdicts = await store.mark(claims)
      await dieAt('after the mark')
      return verdicts
    },
    setAside: async (claims, as, why) => {
      await dieAt('before the set-aside')
      const verdicts = await store.setAside(claims, as, why)
      await dieAt('after the set-aside')
      return verdicts
    },
  })
}

function mortalPublisher(publisher: Publisher, dieAt: DieAt): Publisher {
  return {
    deadLetter: async (deadLetter) => {
      await publisher.deadLetter(deadLetter)
      await dieAt('after the dead letter')
    },
    retryDelayMs: (attempts) => publisher.retryDelayMs?.(attempts),
    busyWaitMs: publisher.busyWaitMs,
    ...(publisher.retryLater && {
      retryLater: async (copy: RetryCopy) => {
        await publisher.retryLater?.(copy)
        await dieAt('after the copy')
      },
    }),
  }
}
