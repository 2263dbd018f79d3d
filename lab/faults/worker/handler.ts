import { setTimeout as sleep } from 'node:timers/promises'
import { OutcomeUnknownError } from '../../../src/index.ts'
import type { PgTransaction } from '../../../adapters/pg/index.ts'
import type { FaultMessage } from '../message.ts'
import { askProvider } from '../provider/ask.ts'
import { say } from './journal.ts'
import { ABORTED, EFFECTS, LEASE_MS, type WorkerSettings } from './settings.ts'

const ANSWERS_WITHIN_MS = 1_000
/** Longer than a lease, and shorter than a transaction may be idle. */
const OUTLASTS_MS = LEASE_MS + 500

interface Run {
  readonly payload: FaultMessage
  readonly attempt: number
  readonly token: string
  readonly signal: AbortSignal
}

/** Tells the journal of a run, whatever `apply` does. */
export async function run({ payload, attempt, token, signal }: Run, apply: () => Promise<unknown>): Promise<void> {
  const { id, does } = payload
  say({ says: 'hstart', id, token })
  signal.addEventListener('abort', () => say({ says: 'told', what: ABORTED, id }))
  try {
    await prepare(does, attempt)
    await apply()
    if (does === 'outlast' && attempt === 1) await outlast(signal)
    say({ says: 'hend', id, token, how: 'ok' })
  } catch (error) {
    say({ says: 'hend', id, token, how: error instanceof OutcomeUnknownError ? 'unknown' : 'failed' })
    throw error
  }
}

async function prepare(does: FaultMessage['does'], attempt: number): Promise<void> {
  switch (does) {
    case 'effect':
    case 'outlast':
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

/** A transaction is not aborted where its store is out of reach: then the handler ends by itself. */
async function outlast(signal: AbortSignal): Promise<void> {
  await sleep(OUTLASTS_MS, undefined, { signal }).catch(() => {})
  if (signal.aborted) throw new OutcomeUnknownError('aborted after its effect', { cause: signal.reason })
}

/** Of an inbox: a row in its transaction. Nothing makes it unique: a second one must be seen. */
export async function writeEffect(tx: PgTransaction, { payload, token }: Run, process: string): Promise<void> {
  const row = [payload.id, process, token]
  await tx.query(`insert into ${EFFECTS} (id, process, token) values ($1, $2, $3)`, row)
}

/** Of a lease: a call that leaves the process. */
export async function callProvider(
  { provider, isKeyed }: WorkerSettings,
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
