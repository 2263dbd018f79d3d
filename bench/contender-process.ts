import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Job, Measurement } from './suite.ts'

/** Which run of a contender a child process is to do. */
export interface Order {
  readonly suite: string
  readonly scenario: string
  readonly contender: string
  readonly job: Job
}

export interface ProcessOptions {
  /** The compiled `child.ts`. */
  readonly child: string
  /** Folder for a CPU profile of each process. */
  readonly profiles: string | undefined
}

/** Ten million messages take some minutes, on a machine that is busy many. */
const WITHIN_MS = 3_600_000

/** Runs one contender in a process of its own, which prints its measurement as one line of JSON. */
export async function runAlone(order: Order, { child, profiles }: ProcessOptions): Promise<Measurement> {
  const flags = ['--expose-gc', ...(profiles === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', profiles])]
  const { job, contender } = order
  if (profiles !== undefined)
    flags.push('--cpu-prof-name', `${contender.replaceAll(/\W+/g, '-')}-${job.name}.cpuprofile`)
  const run = promisify(execFile)(process.execPath, [...flags, child, JSON.stringify(order)], {
    timeout: WITHIN_MS,
    killSignal: 'SIGKILL',
    maxBuffer: 64 << 20,
  })
  try {
    return JSON.parse((await run).stdout) as Measurement
  } catch (error) {
    throw new Error(`${order.scenario}, ${contender}: ${whyFailed(error)}`, { cause: error })
  }
}

/** A process that a signal ended, such as the kernel's when memory is short, has said nothing. */
export function whyFailed(error: unknown): string {
  const { stderr = '', killed = false, signal, code } = error as Failed
  if (killed) return `no end within ${WITHIN_MS / 1000} s`
  const said = stderr.trim()
  if (said !== '') return said
  if (signal != null) return `ended by ${signal}, and said nothing`
  return typeof code === 'number' ? `exit code ${code}, and said nothing` : String(error)
}

/** What `execFile` rejects with. `killed`: it was out of time. */
interface Failed {
  readonly stderr?: string
  readonly killed?: boolean
  readonly signal?: string | null
  readonly code?: number | string
}
