import { setTimeout as sleep } from 'node:timers/promises'
import type { Harm } from './cell.ts'
import type { Crew } from './crew.ts'
import type { Recorder } from './recorder.ts'
import { strikeServer } from './server-harm/server-harm.ts'
import type { Fate } from './wire/link.ts'
import type { Ground, Worker } from './worker/worker.ts'
import { LEASE_MS } from './worker/settings.ts'

export interface Struck {
  /** Of the bytes that the moment was seen by. */
  readonly fate: Fate
  /** Resolves when nothing is harmed any more. */
  readonly healed: Promise<void>
  /** What is done when the neighbours have been sent. */
  readonly afterwards?: () => Promise<void>
}

export interface Scene {
  readonly ground: Ground
  readonly worker: Worker
  readonly crew: Crew
  readonly recorder: Recorder
  /** Of the message that the cell is about, the first of its partition. */
  readonly place: string
}

const PAUSE_MS = 2 * LEASE_MS
/** A broker takes some time to give up a frozen worker, and the other then waits for a lease or a row. */
const GONE_ON_WITHIN_MS = 6 * LEASE_MS
const SILENCE_MS = 4_000

/** Does it, at once: what needs longer goes on in `healed`. */
export function strike(harm: Exclude<Harm, { kind: 'none' }>, scene: Scene): Struck {
  const { worker, crew } = scene
  switch (harm.kind) {
    case 'kill':
      crew.kill(worker)
      return { fate: harm.request === 'arrives' ? 'pass' : 'lose', healed: startLater(harm.awayMs ?? 0, scene) }
    case 'freeze':
      worker.process.freeze()
      return { fate: harm.request === 'arrives' ? 'pass' : 'hold', healed: thawLater(harm, scene) }
    case 'lose':
      return { fate: 'lose', healed: Promise.resolve() }
    case 'swallow':
      return { fate: 'swallow', healed: endSilence(scene) }
    case 'refuse-commit':
      return { fate: 'refuse', healed: Promise.resolve() }
    case 'close-channel':
      setImmediate(() => cutBroker(scene))
      return { fate: 'pass', healed: cutBrokerAgain(harm, scene) }
    case 'cut-off-store':
      return { fate: 'pass', healed: cutOffStore(scene) }
    case 'rebalance':
      return { fate: 'pass', healed: rebalance(harm.guests, scene) }
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
      return strikeServer(harm, scene)
  }
}

/** As a supervisor does. */
async function startLater(awayMs: number, { worker, crew }: Scene): Promise<void> {
  await worker.process.ended
  await sleep(awayMs)
  await crew.start()
}

/** Another worker gets what the frozen one holds, and ends it, before that one goes on. */
async function thawLater({ at }: Extract<Harm, { kind: 'freeze' }>, scene: Scene): Promise<void> {
  const { worker, crew, recorder, place } = scene
  recorder.record(worker.name, { f: 'pause' })
  crew.startAnother()
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

/** Longer than any call may take. */
async function endSilence({ worker }: Scene): Promise<void> {
  await sleep(SILENCE_MS)
  worker.endSilence()
}

function cutBroker({ worker, recorder }: Scene): void {
  worker.toBroker.cut()
  recorder.record(worker.name, { f: 'channel-closed' })
}

async function cutBrokerAgain({ again }: Extract<Harm, { kind: 'close-channel' }>, scene: Scene): Promise<void> {
  for (let cut = 0; cut < (again?.times ?? 0); cut++) {
    await sleep(again?.everyMs)
    cutBroker(scene)
  }
}

/** At once, so that no renewal slips through. The bytes of the moment have been judged, and still arrive. */
async function cutOffStore({ worker, recorder }: Scene): Promise<void> {
  worker.toStore.fallSilent()
  recorder.record(worker.name, { f: 'store-down' })
  await sleep(PAUSE_MS)
  worker.toStore.endSilence()
}

/** The group, or the consumers of the queue, change while the message is under way. */
async function rebalance(guests: 'stays' | 'storm', { crew, recorder, worker }: Scene): Promise<void> {
  recorder.record(worker.name, { f: 'rebalance' })
  const guest = await crew.start()
  if (guests === 'stays') return
  await crew.dismiss(guest)
  for (let turn = 0; turn < 2; turn++) await crew.dismiss(await crew.start())
}
