// The handlers of a worker, and its planted bugs.
import { setTimeout as sleep } from 'node:timers/promises'
import { OutcomeUnknownError } from '../../../src/index.ts'
import type { Worker, WorkerContext, WorkerHooks, WorkerTransaction } from '../../kit/worker/module.ts'
import type { FaultMessage } from '../message.ts'
import { askProvider } from '../provider/ask.ts'
import { withPlantedCommits, withPlantedMarks } from './planted.ts'
import {
  ABORTED,
  ASKS_TO_STOP,
  EFFECTS,
  LATER_ATTEMPT,
  LEASE_MS,
  type FaultSettings,
  type HandlerReport,
} from '../settings.ts'

const ANSWERS_WITHIN_MS = 1_000
/** Longer than a lease, and shorter than a transaction may stay idle. */
const OUTLASTS_MS = LEASE_MS + 500

export default function faulty(worker: Worker<FaultSettings, HandlerReport>): WorkerHooks<FaultMessage> {
  const { settings, store, process: name } = worker.spec
  shiftCalendar(settings.clockShiftMs)
  const handle = (context: WorkerContext<FaultMessage>): Promise<void> => {
    const { payload, attempt, fence, tx, signal } = context
    const started = { payload, attempt, signal, token: fence === undefined ? `${name}/${attempt}` : String(fence) }
    const apply = (): Promise<void> =>
      tx === undefined ? callProvider(settings, started, context.idempotencyKey) : writeEffect(tx, started, name)
    return run(started, apply, worker)
  }
  return {
    consumer: { handle, ...(store.strategy === 'offsets' ? {} : { id: ({ payload }) => payload.id }) },
    store: (real) => withPlantedMarks(real, settings.planted),
    kafka: (client) => withPlantedCommits(client, settings.planted),
  }
}

/** Shifts `Date` only, as when somebody sets the clock of a machine: timers continue. */
function shiftCalendar(byMs: number): void {
  if (byMs === 0) return
  const now = Date.now.bind(Date)
  Date.now = () => now() + byMs
}

interface Run {
  readonly payload: FaultMessage
  readonly attempt: number
  readonly token: string
  readonly signal: AbortSignal
}

/** Reports start and end of a run, whatever `apply` does. */
async function run(
  { payload, attempt, token, signal }: Run,
  apply: () => Promise<void>,
  worker: Worker<FaultSettings, HandlerReport>,
): Promise<void> {
  const { id, does } = payload
  const report = (told: HandlerReport): void => worker.report(told)
  report({ f: 'hstart', id, token })
  if (attempt > 1) report({ f: 'tell', id, what: LATER_ATTEMPT })
  signal.addEventListener('abort', () => report({ f: 'tell', id, what: ABORTED }))
  try {
    if (attempt === 1 && (does === 'ask to stop' || does === 'outlive the stop')) {
      report({ f: 'tell', id, what: ASKS_TO_STOP })
      await worker.ordered('stop')
    }
    await prepare(does, attempt)
    await apply()
    if (does === 'outlast' && attempt === 1) await outlast(signal)
    report({ f: 'hend', id, token, how: 'ok' })
  } catch (error) {
    report({ f: 'hend', id, token, how: error instanceof OutcomeUnknownError ? 'unknown' : 'failed' })
    throw error
  }
}

async function prepare(does: FaultMessage['does'], attempt: number): Promise<void> {
  switch (does) {
    case 'effect':
    case 'outlast':
    case 'ask to stop':
      return
    case 'fail once':
      if (attempt === 1) throw new Error('fails once')
      return
    case 'fail':
      throw new Error('fails always')
    case 'kill':
      process.kill(process.pid, 'SIGKILL')
      return await new Promise(() => {})
    case 'hang':
    case 'outlive the stop':
      if (attempt === 1) await new Promise(() => {})
      return
    case 'hang always':
      return await new Promise(() => {})
    case 'block':
      if (attempt === 1) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 4 * LEASE_MS)
      return
    case 'linger':
      await sleep(LEASE_MS)
      return
  }
}

/** A transaction is not aborted when its store is unreachable: then the handler ends by itself. */
async function outlast(signal: AbortSignal): Promise<void> {
  await sleep(OUTLASTS_MS, undefined, { signal }).catch(() => {})
  if (signal.aborted) throw new OutcomeUnknownError('aborted after its effect', { cause: signal.reason })
}

/** Effect of an inbox: a row in its transaction. It has no unique key, so that a second effect shows. */
async function writeEffect(tx: WorkerTransaction, { payload, token }: Run, process: string): Promise<void> {
  const row = [payload.id, process, token]
  await tx.query(`insert into ${EFFECTS} (id, process, token) values ($1, $2, $3)`, row)
}

/** Effect of a lease: a call that leaves the process. */
async function callProvider(
  { provider, isKeyed }: FaultSettings,
  { payload: { id }, token }: Run,
  idempotencyKey: string,
): Promise<void> {
  const request = { ask: 'effect', log: provider.log, id, token, ...(isKeyed ? { key: idempotencyKey } : {}) } as const
  try {
    await askProvider(provider.port, request, ANSWERS_WITHIN_MS)
  } catch (cause) {
    throw new OutcomeUnknownError('the provider did not answer', { cause })
  }
}
