import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from '../test/kit/servers/commands.ts'
import type { HistoryEvent, Subject } from '../testing/history.ts'
import type { Defines } from './cell.ts'
import { readReport } from './pan-report.ts'
import { PROMELA } from './run-cell.ts'
import type { Tools } from './spin.ts'

/**
 * What a store wrote for one message, a letter each, in the order in which it did:
 *
 *     C claimed   T taken over   M marked   R released   D released in doubt   F released, the attempt given back
 *     G given up  P parked
 */
export type Trace = string

/** Each kind of fault that the rules know. Under a trace they are not counted. */
const FAULTS: Defines = { CRASHES: 1, EXPIRIES: 1, FAILS: 1, UNKNOWNS: 1, CUTS: 1, STOPS: 1, TRANSFER: 1 }
/** The traces of all messages in a history. What a store was asked twice and wrote once is one letter. */
export function tracesOf(events: readonly HistoryEvent[]): ReadonlyMap<Subject, Trace> {
  const traces = new Map<Subject, Trace>()
  const seen = new Set<string>()
  for (const event of events) {
    const letter = letterOf(event)
    if (letter === undefined || !('token' in event)) continue
    const { subject, token, f } = event
    const once = `${subject} ${token} ${f}`
    if (seen.has(once)) continue
    seen.add(once)
    traces.set(subject, (traces.get(subject) ?? '') + letter)
  }
  return traces
}

function letterOf(event: HistoryEvent): string | undefined {
  if (!('type' in event) || event.type !== 'ok') return undefined
  switch (event.f) {
    case 'claim':
      return event.verdict === 'claimed' ? 'C' : event.verdict === 'taken-over' ? 'T' : undefined
    case 'mark':
      return 'M'
    case 'release':
      return event.refund ? 'F' : event.doubt ? 'D' : 'R'
    case 'set-aside':
      return event.as === 'parked' ? 'P' : 'G'
    case 'call':
    case 'copy':
    case 'renew':
    case 'send':
      return undefined
  }
}

/** The model of one message under some rules, built once: asks of each trace whether the model can take it. */
export class Tracer implements AsyncDisposable {
  readonly #folder: string

  private constructor(folder: string) {
    this.#folder = folder
  }

  static async build(rules: Defines, { spin, gcc }: Tools): Promise<Tracer> {
    const folder = mkdtempSync(join(tmpdir(), 'consume-once-trace-'))
    const inFolder = { cwd: folder, timeoutMs: 120_000 }
    for (const name of ['law.pml', 'one-message.pml']) copyFileSync(join(PROMELA, name), join(folder, name))
    const options = Object.entries({ ...FAULTS, TRACED: 1, ...rules }).map(([name, value]) => `-D${name}=${value}`)
    await run(spin, ['-a', ...options, 'one-message.pml'], inFolder)
    await run(
      gcc,
      ['-O1', '-w', '-DMEMLIM=2000', '-DSAFETY', '-DCOLLAPSE', '-DNOREDUCE', '-o', 'pan', 'pan.c'],
      inFolder,
    )
    return new Tracer(folder)
  }

  /** @throws Error if the search ended before it had seen everything */
  async canTake(trace: Trace): Promise<boolean> {
    // -E: a step that is not the next one goes no further, which is no deadlock of the model.
    const args = ['-E', '-m1000000', '-w20']
    const output = await run(join(this.#folder, 'pan'), args, {
      cwd: this.#folder,
      timeoutMs: 60_000,
      env: { ...process.env, TRACE: trace },
    })
    const { finding } = readReport(output)
    if (finding.kind === 'incomplete') throw new Error(`trace ${trace}: the search was cut short: ${finding.why}`)
    return finding.kind === 'violation'
  }

  async [Symbol.asyncDispose](): Promise<void> {
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
