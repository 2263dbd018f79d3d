export const KILL_STEPS = ['claimed', 'handled', 'marked', 'settled'] as const
export type KillStep = (typeof KILL_STEPS)[number]

export interface KillAt {
  readonly step: KillStep
  readonly count: number
}

/**
 * Counts the steps of messages in this run, and kills the process as soon as a step has been reached the given number
 * of times.
 */
export class KillSwitch {
  readonly #killAt: KillAt | undefined
  readonly #reached: Record<KillStep, number> = { claimed: 0, handled: 0, marked: 0, settled: 0 }

  constructor(killAt: KillAt | undefined) {
    this.#killAt = killAt
  }

  /** Call it before anything later can happen to these messages. */
  reached(step: KillStep, count: number = 1): void {
    this.#reached[step] += count
    const killAt = this.#killAt
    if (killAt?.step === step && this.#reached[step] >= killAt.count) process.kill(process.pid, 'SIGKILL')
  }

  count(step: KillStep): number {
    return this.#reached[step]
  }
}
