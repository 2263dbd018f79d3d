import { setTimeout as sleep } from 'node:timers/promises'
import { injectAtServer } from './at-server.ts'
import { ASKS_TO_STOP, LEASE_MS } from '../settings.ts'
import type { Fault } from '../fault.ts'
import type { Moment } from '../moment.ts'
import type { Scene, Injection } from './scene.ts'

const PAUSE_MS = 2 * LEASE_MS
/** A broker takes some time to drop a frozen worker, and the next worker then waits for a lease or a row. */
const GONE_ON_WITHIN_MS = 6 * LEASE_MS
const SILENCE_MS = 4_000

/** A fault of the wire: others come by themselves. */
export type AtMoment = Extract<Fault, { readonly at: Moment }>

/** Injects the fault at once. Slower steps continue in `healed`. */
export function inject(fault: AtMoment, scene: Scene): Injection {
  const { worker, supervisor } = scene
  switch (fault.kind) {
    case 'kill':
      supervisor.kill(worker)
      return { action: fault.request === 'arrives' ? 'pass' : 'lose', healed: startLater(fault.awayMs ?? 0, scene) }
    case 'freeze':
      worker.process.freeze()
      return { action: fault.request === 'arrives' ? 'pass' : 'hold', healed: thawLater(fault, scene) }
    case 'lose':
      return { action: 'lose', healed: Promise.resolve() }
    case 'swallow':
      return { action: 'swallow', healed: endSilence(scene) }
    case 'refuse-commit':
      return { action: 'refuse', healed: Promise.resolve() }
    case 'close-channel':
      setImmediate(() => cutBroker(scene))
      return { action: 'pass', healed: cutBrokerAgain(fault, scene) }
    case 'cut-off-store':
      return { action: 'pass', healed: cutOffStore(scene) }
    case 'cut-off-for-good':
      return { action: 'pass', healed: cutOffForGood(fault.from, scene) }
    case 'stop':
      return { action: 'hold', healed: stopAndReplace(scene) }
    case 'rebalance':
      return { action: 'pass', healed: rebalance(fault.guests, scene) }
    case 'freeze-redis':
    case 'lose-records':
    case 'spoil-record':
    case 'promote-redis':
    case 'restart-broker':
    case 'delete-topic':
    case 'recreate-topic':
    case 'store-away':
    case 'terminate-backends':
    case 'restart-postgres':
    case 'promote-postgres':
      return injectAtServer(fault, scene)
  }
}

/** Starts the next worker, as a supervisor does. */
async function startLater(awayMs: number, { worker, supervisor }: Scene): Promise<void> {
  await worker.process.ended
  await sleep(awayMs)
  await supervisor.start()
}

/** Thaws the worker after another one has settled the message that it held. */
async function thawLater({ at }: Extract<Fault, { kind: 'freeze' }>, scene: Scene): Promise<void> {
  const { worker, supervisor, recorder, place } = scene
  recorder.record(worker.name, { f: 'pause' })
  supervisor.startAnother()
  const isEndedElsewhere = (): boolean =>
    recorder.has((event) => {
      if (event.proc === worker.name) return false
      return (event.f === 'ack' && event.place === place) || (event.f === 'commit' && event.next > 0)
    })
  const isOver = at === 'settled' ? Promise.resolve() : recorder.until(isEndedElsewhere)
  await Promise.all([sleep(PAUSE_MS), Promise.race([isOver, sleep(GONE_ON_WITHIN_MS)])])
  worker.process.thaw()
  worker.release()
}

/** Waits longer than any call may take. */
async function endSilence({ worker }: Scene): Promise<void> {
  await sleep(SILENCE_MS)
  worker.endSilence()
}

function cutBroker({ worker, recorder }: Scene): void {
  worker.toBroker.cut()
  recorder.record(worker.name, { f: 'channel-closed' })
}

async function cutBrokerAgain({ again }: Extract<Fault, { kind: 'close-channel' }>, scene: Scene): Promise<void> {
  for (let cut = 0; cut < (again?.times ?? 0); cut++) {
    await sleep(again?.everyMs)
    cutBroker(scene)
  }
}

/** Cuts the store off at once, so that no renewal gets through. The bytes of the moment still arrive. */
async function cutOffStore({ worker, recorder }: Scene): Promise<void> {
  worker.toStore.fallSilent()
  recorder.record(worker.name, { f: 'store-down' })
  await sleep(PAUSE_MS)
  worker.toStore.endSilence()
}

/** The bytes of the moment still arrive. */
async function cutOffForGood(from: 'store' | 'broker', { worker, recorder }: Scene): Promise<void> {
  const proxy = from === 'store' ? worker.toStore : worker.toBroker
  proxy.fallSilent()
  recorder.record(worker.name, { f: from === 'store' ? 'store-down' : 'broker-down' })
}

const STOPS_WITHIN_MS = 15_000

function stopAndReplace({ worker, supervisor }: Scene): Promise<void> {
  return supervisor.replace(worker, STOPS_WITHIN_MS, () => worker.release())
}

/** Resolves when the worker of the handler that asked has stopped, and another one runs. */
export async function stopWhenAsked({ supervisor, recorder }: Omit<Scene, 'worker'>): Promise<void> {
  const asking = (): string | undefined =>
    recorder.events.find((event) => event.f === 'tell' && event.what === ASKS_TO_STOP)?.proc
  await recorder.until(() => asking() !== undefined)
  await supervisor.replace(supervisor.named(asking() ?? ''), STOPS_WITHIN_MS, () => {})
}

/** Changes the members of the group, or the consumers of the queue, while the message is in flight. */
async function rebalance(guests: 'stays' | 'storm', { supervisor, recorder, worker }: Scene): Promise<void> {
  recorder.record(worker.name, { f: 'rebalance' })
  const guest = await supervisor.start()
  if (guests === 'stays') return
  await supervisor.dismiss(guest)
  for (let turn = 0; turn < 2; turn++) await supervisor.dismiss(await supervisor.start())
}
