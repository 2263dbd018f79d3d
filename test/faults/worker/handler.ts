import { setTimeout as sleep } from 'node:timers/promises'
import { OutcomeUnknownError } from '../../../src/index.ts'
import type { PgTransaction } from '../../../adapters/pg/index.ts'
import type { FaultMessage } from '../message.ts'
import { askProvider } from '../provider/ask.ts'
import { say } from './journal.ts'
import { EFFECTS, LEASE_MS, type WorkerSettings } from './settings.ts'

const ANSWERS_WITHIN_MS = 1_000

interface Run {
  readonly payload: FaultMessage
  readonly attempt: number
  readonly token: string
}

/** Tells the journal of a run, whatever `apply` does. */
export async function run({ payload, attempt, token }: Run, apply: () => Promise<unknown>): Promise<void> {
  const { id, does } = payload
  say({ says: 'hstart', id, token })
  try {
    await prepare(does, attempt)
    await apply()
    say({ says: 'hend', id, token, how: 'ok' })
  } catch (error) {
    say({ says: 'hend', id, token, how: error instanceof OutcomeUnknownError ? 'unknown' : 'failed' })
    throw error
  }
}

async function prepare(does: FaultMessage['does'], attempt: number): Promise<void> {
  switch (does) {
    case 'effect':
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
    case 'block':
      if (attempt === 1) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 4 * LEASE_MS)
      return
    case 'linger':
      await sleep(LEASE_MS)
      return
  }
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
