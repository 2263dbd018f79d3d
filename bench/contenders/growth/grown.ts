import { readFileSync, readdirSync } from 'node:fs'
import type { ClaimItem } from 'consume-once/spi'
import type { Job, Measurement } from '../../suite.ts'
import { spreadOf } from '../../statistics.ts'
import { Tally } from '../../tally.ts'
import { SERVER_CPU } from './figures.ts'
import { atOnce, inBatches, itemsOf } from '../store/store-items.ts'

/** A store in a server of its own. */
export interface Grown {
  /** Claims a batch, has its effect if it has one, and marks it. */
  readonly pass: (batch: readonly ClaimItem[]) => Promise<void>
  /** Removes all records. */
  readonly clear: () => Promise<void>
  /** Writes records as if their messages had been handled before. */
  readonly fill: (records: number) => Promise<void>
  /** Numbers that only grow, by name: what the server has done until now. */
  readonly counters: () => Promise<Readonly<Record<string, number>>>
  readonly batchSize: number
  /** Batches at the server at once. */
  readonly width: number
  /** Processes of the server. */
  readonly pids: readonly number[]
}

/** To fill a store takes minutes, so that it is done once, and what is measured in three parts: the median counts. */
const PARTS = 3

interface Took {
  readonly tookMs: number
  readonly cpuMs: number
  readonly batches: number
}

/** Claims and marks the messages of the job among that many records. As many before them warm the process, on an empty store. */
export async function measuredAmong(records: number, job: Job, grown: Grown): Promise<Measurement> {
  const { batchSize, width, pass, pids } = grown
  await atOnce(inBatches(itemsOf('warm', job.messages), batchSize), width, pass)
  await grown.clear()
  await grown.fill(job.isSmoke ? records / 1_000 : records)
  const batches = inBatches(itemsOf(job.name, job.messages), batchSize)
  const tally = new Tally(job)
  for (let n = 0; n < job.messages; n++) tally.started(String(n))
  const [before, cpuBefore] = [await grown.counters(), cpuMsOf(pids)]
  tally.arrived()
  const parts: Took[] = []
  for (const part of inBatches(batches, Math.ceil(batches.length / PARTS))) {
    const [startedAt, used] = [performance.now(), process.cpuUsage()]
    await atOnce(part, width, async (batch) => {
      await pass(batch)
      tally.ended(batch.length)
    })
    const { user, system } = process.cpuUsage(used)
    parts.push({ tookMs: performance.now() - startedAt, cpuMs: (user + system) / 1_000, batches: part.length })
  }
  const cpu = cpuMsOf(pids) - cpuBefore
  const counted = Object.entries(await grown.counters()).map(
    ([name, count]) => [`${name} each`, (count - (before[name] ?? 0)) / job.messages] as const,
  )
  const { messages } = tally.measurement()
  return {
    messages,
    tookMs: spreadOf(parts.map(({ tookMs, batches: some }) => (tookMs / some) * batches.length)).median,
    cpuMs: spreadOf(parts.map(({ cpuMs, batches: some }) => (cpuMs / some) * batches.length)).median,
    figures: { [SERVER_CPU]: (cpu * 1_000) / job.messages, ...Object.fromEntries(counted) },
  }
}

/** Ticks of the clock that /proc counts in: 100 a second on Linux, whatever the kernel's own. */
const TICK_MS = 10

/** CPU time of these processes and of their children, those that have ended included; 0 where there is no /proc. */
function cpuMsOf(pids: readonly number[]): number {
  let ticks = 0
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    const fields = fieldsOf(entry)
    // state parent ... utime stime cutime cstime: fields 3, 4 and 14 to 17 of proc(5).
    if (pids.includes(Number(entry)) || pids.includes(Number(fields[1]))) {
      ticks += Number(fields[11]) + Number(fields[12])
    }
    if (pids.includes(Number(entry))) ticks += Number(fields[13]) + Number(fields[14])
  }
  return ticks * TICK_MS
}

/** What follows the name of a process; nothing if it has ended. */
function fieldsOf(pid: string): readonly string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return []
  }
}
