import type { Chance } from './chance.ts'

/** Faults that may happen at any moment of a schedule, and their rates. The seed chooses the rates too. */
export interface FaultRates {
  readonly requestLost: number
  readonly replyLost: number
  readonly slowCall: number
  /** At each step of a process: before a call, after it took effect, after its reply, around an effect. */
  readonly crash: number
  readonly pause: number
  /** A pause right before a mark, a release or a set-aside is sent: if it is long enough, the call is late. */
  readonly lateEnd: number
  readonly handlerFails: number
  readonly handlerSlow: number
  readonly publishFails: number
}

/** A disturbance from outside, at a time of its own. */
export type Disturbance =
  | 'pause'
  | 'kill'
  | 'start'
  | 'stop'
  | 'redeliver'
  | 'disconnect'
  | 'clock-jump'
  | 'store-loss'
  | 'store-down'

export const NO_FAULTS: FaultRates = {
  requestLost: 0,
  replyLost: 0,
  slowCall: 0,
  crash: 0,
  pause: 0,
  lateEnd: 0,
  handlerFails: 0,
  handlerSlow: 0,
  publishFails: 0,
}

/** Most schedules have few kinds of faults at high rates: too many kinds would hide each other. */
export function drawRates(chance: Chance): FaultRates {
  const rate = (most: number): number => (chance.happens(0.5) ? 0 : chance.fraction() ** 2 * most)
  return {
    requestLost: rate(0.3),
    replyLost: rate(0.4),
    slowCall: rate(0.3),
    crash: rate(0.08),
    pause: rate(0.5),
    lateEnd: rate(0.5),
    handlerFails: rate(0.4),
    handlerSlow: rate(0.4),
    publishFails: rate(0.4),
  }
}

interface FaultPlan {
  readonly rates: FaultRates
  readonly pausedForMs: number
}

/** Decides whether a fault happens now. After `heal` none does. */
export class Faults {
  /** The longest pause at a step. */
  readonly pausedForMs: number
  readonly #chance: Chance
  #rates: FaultRates
  #isStoreDown = false
  /** Number of faults that happened. */
  count = 0

  constructor(chance: Chance, { rates, pausedForMs }: FaultPlan) {
    this.#chance = chance
    this.#rates = rates
    this.pausedForMs = pausedForMs
  }

  happens(which: keyof FaultRates): boolean {
    const rate = this.#rates[which]
    if (rate === 0 || !this.#chance.happens(rate)) return false
    this.count++
    return true
  }

  get isStoreDown(): boolean {
    return this.#isStoreDown
  }

  setStoreDown(isDown: boolean): void {
    this.#isStoreDown = isDown
    if (isDown) this.count++
  }

  heal(): void {
    this.#rates = NO_FAULTS
    this.#isStoreDown = false
  }

  /** Latency of a message in one direction, in milliseconds. */
  latencyMs(): number {
    return this.happens('slowCall') ? this.#chance.between(20, 300) : this.#chance.between(1, 3)
  }
}
