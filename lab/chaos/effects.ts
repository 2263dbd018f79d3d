import { setTimeout as sleep } from 'node:timers/promises'
import { Client, type Pool } from 'pg'
import type { Message } from 'consume-once'
import type { Payload } from './messages.ts'
import { isPlantedIn } from './planted.ts'
import type { WorkerSpec } from '../kit/worker/spec.ts'
import { EFFECTS, type ChaosSettings } from './worker-settings.ts'

/** For each message: a leak of no more than that must be found in minutes. */
const LEAKED_BYTES = 100_000

interface Queries {
  readonly query: (text: string, values: readonly unknown[]) => Promise<unknown>
}

interface Handled {
  readonly payload: Payload
  readonly message: Pick<Message, 'position'>
  readonly attempt: number
}

/** Handlers of a worker: a row for each message, and the planted bugs. */
export class Effects {
  readonly #spec: WorkerSpec<ChaosSettings>
  readonly #pool: Pool
  readonly #leaked: string[] = []
  #open: Promise<void> | undefined

  constructor(spec: WorkerSpec<ChaosSettings>, pool: Pool) {
    this.#spec = spec
    this.#pool = pool
  }

  /** The effects come in the middle, so that a process can die on either side of them. */
  async handle(handled: readonly Handled[], queries: Queries): Promise<void> {
    const begunAt = Date.now()
    const workMs = Math.max(...handled.map(({ payload }) => payload.workMs))
    await sleep(workMs / 2)
    for (const { payload, attempt } of handled) {
      const { fails } = payload
      if (fails === 'always' || (fails === 'once' && attempt === 1)) throw new Error(`fails ${fails}`)
    }
    await this.#insert(queries, this.#without('skip', handled), begunAt)
    await this.#insert(this.#pool, this.#with('double', handled), begunAt)
    for (const _ of this.#with('leak', handled)) this.#leaked.push(Buffer.alloc(LEAKED_BYTES, 'x').toString('latin1'))
    if (this.#with('open-transaction', handled).length > 0) await (this.#open ??= leaveOpen(this.#spec))
    await sleep(workMs / 2)
  }

  #with(planted: string, handled: readonly Handled[]): readonly Handled[] {
    return handled.filter(({ payload }) => isPlantedIn(planted, this.#spec.settings.planted, payload.id))
  }

  #without(planted: string, handled: readonly Handled[]): readonly Handled[] {
    return handled.filter(({ payload }) => !isPlantedIn(planted, this.#spec.settings.planted, payload.id))
  }

  async #insert(queries: Queries, handled: readonly Handled[], begunAt: number): Promise<void> {
    if (handled.length === 0) return
    const { process: name } = this.#spec
    const columns = [
      handled.map(({ payload }) => payload.id),
      handled.map(({ message }) => message.position),
      handled.map(({ attempt }) => attempt),
    ]
    await queries.query(
      `insert into ${EFFECTS} (id, process, begun_at, position, attempt)
       select id, $1, $2, position, attempt from unnest($3::text[], $4::text[], $5::int[]) as handled (id, position, attempt)`,
      [name, begunAt, ...columns],
    )
  }
}

/** A transaction that is never ended. */
async function leaveOpen({ settings, process: name }: WorkerSpec<ChaosSettings>): Promise<void> {
  const client = new Client({ connectionString: settings.postgresUrl, application_name: name })
  client.on('error', () => {})
  await client.connect()
  await client.query('begin')
  await client.query('select 1')
}
