import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

interface ProcessRow {
  readonly pid: number
  readonly parent: number
  readonly group: number
  /** With the pid this tells one process from a later one that was given the same number. */
  readonly startedAt: string
}

/** When the process started, in the system's own notation; undefined once it has ended, also while unreaped. */
export function startedAt(pid: number): string | undefined {
  return processTable().find((one) => one.pid === pid)?.startedAt
}

/**
 * Stops a process and everything it started, which matters where the parent alone does no work: a frozen Postgres
 * would go on serving its open connections. Parents first and until nothing new appears, so that no fork slips away.
 */
export function freezeTree(root: number): readonly number[] {
  const frozen = new Set<number>()
  for (;;) {
    const fresh = treeOf(root).filter((pid) => !frozen.has(pid))
    if (fresh.length === 0) return [...frozen]
    for (const pid of fresh) {
      signal(pid, 'SIGSTOP')
      frozen.add(pid)
    }
  }
}

export function thawTree(root: number): void {
  for (const pid of treeOf(root).toReversed()) signal(pid, 'SIGCONT')
}

/** SIGKILL to a process and everything it started; resolves when all of it is gone. */
export async function killTree(root: number): Promise<void> {
  const members = freezeTree(root)
  for (const pid of members) signal(pid, 'SIGKILL')
  if (!(await gone(members, 10_000))) throw new Error(`processes ${members.join(', ')} outlived SIGKILL`)
}

/** Asks the process to end by `endSignal` and kills what is left of its tree after `graceMs`. */
export async function endTree(root: number, endSignal: NodeJS.Signals, graceMs: number): Promise<void> {
  if (endSignal !== 'SIGKILL') {
    const members = treeOf(root)
    thawTree(root)
    signal(root, endSignal)
    if (await gone(members, graceMs)) return
  }
  await killTree(root)
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

async function gone(pids: readonly number[], withinMs: number): Promise<boolean> {
  const deadline = performance.now() + withinMs
  for (;;) {
    const alive = new Set(processTable().map(({ pid }) => pid))
    if (!pids.some((pid) => alive.has(pid))) return true
    if (performance.now() > deadline) return false
    await sleep(20)
  }
}

/** The root first, then its descendants and what is left of the process group it leads. */
function treeOf(root: number): readonly number[] {
  const table = processTable()
  const members = new Set(table.filter(({ pid }) => pid === root).map(({ pid }) => pid))
  for (let size = -1; size !== members.size;) {
    size = members.size
    for (const { pid, parent, group } of table) if (members.has(parent) || group === root) members.add(pid)
  }
  return [...members]
}

/** Every process that has not ended. Read from /proc where there is one, since slim images have no `ps`. */
function processTable(): readonly ProcessRow[] {
  return existsSync('/proc/self/stat') ? readProc() : readPs()
}

function readProc(): readonly ProcessRow[] {
  return readdirSync('/proc').flatMap((entry) => {
    if (!/^\d+$/.test(entry)) return []
    let stat: string
    try {
      stat = readFileSync(`/proc/${entry}/stat`, 'latin1')
    } catch {
      return [] // It ended between the two reads.
    }
    // The name, in parentheses, may hold blanks and parentheses; what follows does not.
    const [state = '', parent, group, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    // A killed JVM is a zombie while its threads still end: until the last of them its ports are open.
    const threads = Number(rest[14])
    if (isEnded(state) && threads <= 1) return []
    return [{ pid: Number(entry), parent: Number(parent), group: Number(group), startedAt: rest[16] ?? '' }]
  })
}

function readPs(): readonly ProcessRow[] {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,pgid=,stat=,lstart='], { encoding: 'utf8' })
    .trim()
    .split('\n')
  return lines.flatMap((line) => {
    const [pid, parent, group, state = '', ...started] = line.trim().split(/\s+/)
    if (isEnded(state)) return []
    return [{ pid: Number(pid), parent: Number(parent), group: Number(group), startedAt: started.join(' ') }]
  })
}

function isEnded(state: string): boolean {
  return state.startsWith('Z') || state.startsWith('X')
}
