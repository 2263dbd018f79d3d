import { EventEmitter, once } from 'node:events'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, jest } from '@jest/globals'
import type { PgTransaction } from '../../../adapters/pg/index.ts'
import { defineConsumer, messageId, type ObserverEvent } from '../../../src/index.ts'
import { MemoryBroker, runMemory } from '../../../src/memory/index.ts'
import { uniqueName } from '../../../test/kit/namespace.ts'
import { createCharge } from './orm.ts'
import { describePostgres, newPlace, type PgPlace } from '../../../test/pg/support.ts'

/**
 * `caught`: FLOATING_QUERY, and nothing is committed. `told too late`: marked, and the process warns of the query that came
 * afterwards. `unseen`: marked, and nobody can tell, as nothing was ever asked of the client.
 */
type Seen = 'caught' | 'told too late' | 'unseen'

/** A handler that does not await. */
interface Left {
  /** Keeps a promise that the handler does not await, and swallows its error: Node would end the process. */
  readonly leave: (call: Promise<unknown>) => void
  /** Resolves once the message is settled. */
  readonly settled: Promise<unknown>
}

export type FloatingCall<Orm> = readonly [
  name: string,
  seen: Seen,
  call: (tx: PgTransaction, orm: Orm, left: Left) => unknown,
]

/** What comes of calls that a handler does not await, as the table of docs/orm.md says. `create` gets a schema with the table `charge`. */
export function describeFloating<Orm extends { readonly close: () => Promise<unknown> }>(
  name: string,
  create: (place: PgPlace) => Promise<Orm>,
  calls: readonly FloatingCall<Orm>[],
): void {
  describePostgres(name, () => {
    let place: PgPlace
    let orm: Orm
    let warn: jest.Spied<typeof process.emitWarning>
    beforeAll(async () => {
      place = await newPlace()
      await createCharge(place)
      orm = await create(place)
    })
    beforeEach(() => {
      warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {})
    })
    afterEach(() => warn.mockRestore())
    afterAll(async () => {
      await orm.close()
      await place.close()
    })

    it.each(calls)('%s is %s', async (_, seen, call) => {
      const left: Promise<unknown>[] = []
      const leave = (promise: Promise<unknown>): void => void left.push(promise.catch(() => {}))
      const over = new EventEmitter()
      const settled = once(over, 'settled')
      const failures: unknown[] = []
      const observe = (event: ObserverEvent): void => {
        if (event.type === 'attempt-failed') failures.push((event.error as { readonly code?: unknown }).code)
      }
      const consumer = defineConsumer({
        name: 'orm',
        id: messageId.header('id'),
        maxAttempts: 2,
        backoff: { initialMs: 1 },
        store: await place.newInbox(),
        observe,
        handle: async ({ tx, attempt }) => {
          if (attempt === 1) await call(tx, orm, { leave, settled })
        },
      })
      const broker = new MemoryBroker({ partitions: 1 })
      const id = uniqueName('floating')
      broker.publish('charges', { value: Buffer.from('{}'), headers: { id } })
      const running = await runMemory(broker, consumer, { topic: 'charges', group: id })
      await broker.drained('charges', id)
      await running.stop()
      over.emit('settled')
      await Promise.all(left)
      const codes = warn.mock.calls.map(([, options]) => (options as { readonly code?: string } | undefined)?.code)
      // A server of tests may run without fsync, of which the store warns too.
      const warnings = codes.filter((code) => code !== 'CONSUME_ONCE_FSYNC_OFF')
      expect({ failures, warnings }).toEqual({
        failures: seen === 'caught' ? ['FLOATING_QUERY'] : [],
        warnings: seen === 'told too late' ? ['CONSUME_ONCE_LATE_QUERY'] : [],
      })
      expect((await place.pool.query(`select payment from ${place.schema}.charge`)).rows).toEqual([])
    })
  })
}
