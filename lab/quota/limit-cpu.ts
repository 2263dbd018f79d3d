import { mkdirSync, rmdirSync, writeFileSync } from 'node:fs'

/** As the scheduler does for a container: so much of each period, and nothing in the rest of it. */
const PERIOD_MS = 100

/** Ends with its process, or by `end()`. */
export interface CpuLimit {
  /** `cgroup`: by the scheduler. `signals`: stopped and continued from here, as this process gets to it. */
  readonly by: 'cgroup' | 'signals'
  end(): void
}

/** Gives a process so much of one CPU. `share`: 0.1 is a tenth. */
export function limitCpu(pid: number, share: number): CpuLimit {
  return byCgroup(pid, share) ?? bySignals(pid, share)
}

const CGROUPS = [
  { root: '/sys/fs/cgroup/cpu', limits: { 'cpu.cfs_period_us': period(), 'cpu.cfs_quota_us': quota } },
  { root: '/sys/fs/cgroup', limits: { 'cpu.max': (share: number) => `${quota(share)} ${PERIOD_MS * 1_000}` } },
] as const

/** `undefined` where this process may not, as in most containers. */
function byCgroup(pid: number, share: number): CpuLimit | undefined {
  for (const { root, limits } of CGROUPS) {
    const group = `${root}/consume-once-${pid}`
    try {
      mkdirSync(group)
      try {
        for (const [file, text] of Object.entries(limits)) writeFileSync(`${group}/${file}`, text(share))
        writeFileSync(`${group}/cgroup.procs`, String(pid))
      } catch (error) {
        rmdirSync(group)
        throw error
      }
      return { by: 'cgroup', end: () => rmdirSync(group) }
    } catch {
      // Not mounted so, or not ours.
    }
  }
  return undefined
}

function period(): () => string {
  return () => String(PERIOD_MS * 1_000)
}

function quota(share: number): string {
  return String(Math.round(share * PERIOD_MS * 1_000))
}

function bySignals(pid: number, share: number): CpuLimit {
  let timer: NodeJS.Timeout
  const stop = (): void => {
    process.kill(pid, 'SIGSTOP')
    timer = setTimeout(go, PERIOD_MS * (1 - share))
  }
  const go = (): void => {
    process.kill(pid, 'SIGCONT')
    timer = setTimeout(stop, PERIOD_MS * share)
  }
  stop()
  return {
    by: 'signals',
    end: () => {
      clearTimeout(timer)
      process.kill(pid, 'SIGCONT')
    },
  }
}
