import { CASES, type Case } from './plan.ts'

/** What a process took over a time. */
export interface Taken {
  readonly handledPerSecond: number
  /** Thousandths of a core. */
  readonly millicores: number
  /** The most of what it had resident, looked at each half second, in MiB. */
  readonly memoryMib: number
}

export interface Round {
  readonly idle: Taken
  readonly loaded: Taken
}

export interface Recorded {
  /** The day of the run. */
  readonly on: string
  readonly node: string
  readonly processor: string
  readonly kafka: string
  readonly secondsEach: number
  /** `node_modules` of a project with this package and the clients, in MiB. */
  readonly installedMib: Readonly<Record<Case, number>>
  readonly rounds: Readonly<Record<Case, readonly Round[]>>
}

/** What a container should ask for, and be ended at. */
interface Resources {
  readonly requestMillicores: number
  readonly requestMib: number
  readonly limitMib: number
}

/**
 * For a rate as it was measured, with either broker: half as much CPU again for bursts and a member that died, a quarter more memory,
 * and the limit at twice that. A process that is out of memory is killed, and what was under way is in doubt.
 */
export function resourcesOf({ rounds }: Pick<Recorded, 'rounds'>): Resources {
  const taken = CASES.flatMap((what) => rounds[what].map(({ loaded }) => loaded))
  const requestMib = upTo(32, 1.25 * Math.max(...taken.map(({ memoryMib }) => memoryMib)))
  return {
    requestMillicores: upTo(50, 1.5 * Math.max(...taken.map(({ millicores }) => millicores))),
    requestMib,
    limitMib: 2 * requestMib,
  }
}

function upTo(step: number, figure: number): number {
  return Math.ceil(figure / step) * step
}

export function medianOf(figures: readonly number[]): number {
  const sorted = figures.toSorted((a, b) => a - b)
  const middle = (sorted.length - 1) / 2
  return ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle)] ?? 0)) / 2
}
