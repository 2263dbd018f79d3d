import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { postgresOutbox, type PgTransaction, type PostgresOutbox } from '../../../adapters/pg/index.ts'
import { defineConsumer, messageId, type HandlerContext, type ObserverEvent } from '../../../src/index.ts'
import { MemoryBroker, runMemory } from '../../../src/memory/index.ts'
import { hold, newItem } from '../../../testing/contract/store/claims.ts'
import { eventually } from '../../../test/kit/eventually.ts'
import { turns } from '../../../test/kit/manual-clock.ts'
import { uniqueName } from '../../../test/kit/namespace.ts'
import { Confirming } from '../../../test/kit/suites/outbox/confirming.ts'
import { Signal } from '../../../test/kit/signal.ts'
import { describePostgres, lend, newPlace, type PgPlace } from '../../../test/pg/support.ts'

/** A row as an ORM maps it. */
export interface Charge {
  readonly payment: string
  readonly cents: number
  readonly at: Date
}

/** A transaction of the ORM's own. */
export interface OrmTransaction {
  readonly insert: (payment: string) => Promise<unknown>
  /** One more within it, where the ORM has such. */
  readonly nested?: (work: (inner: OrmTransaction) => Promise<unknown>) => Promise<unknown>
}

/** An ORM over `ctx.tx`, as its example writes it. */
export interface Orm {
  readonly insert: (tx: PgTransaction, payment: string) => Promise<unknown>
  readonly all: (tx: PgTransaction) => Promise<readonly Charge[]>
  /** Sets `cents` of all rows; answers how many the ORM says there were. */
  readonly setCents: (tx: PgTransaction, cents: number) => Promise<number>
  /** A statement that the server takes `seconds` for. */
  readonly stall: (tx: PgTransaction, seconds: number) => Promise<unknown>
  readonly transaction: (tx: PgTransaction, work: (inner: OrmTransaction) => Promise<unknown>) => Promise<unknown>
  readonly serializable: (tx: PgTransaction, work: (inner: OrmTransaction) => Promise<unknown>) => Promise<unknown>
  readonly close?: () => Promise<unknown>
}

type Work = (
  work: Pick<HandlerContext<unknown>, 'attempt' | 'publish'> & { readonly tx: PgTransaction },
) => Promise<void>

interface Run {
  readonly outcomes: readonly string[]
  /** For each failed attempt: the code of the library or of Postgres, else the message. */
  readonly failures: readonly string[]
}

/** What every ORM must do in a handler. `create` gets a schema with the table `charge`. */
export function describeOrm(name: string, create: (place: PgPlace) => Promise<Orm>): void {
  describePostgres(`${name} over ctx.tx`, () => {
    let place: PgPlace
    let orm: Orm
    beforeAll(async () => {
      place = await newPlace()
      await createCharge(place)
      orm = await create(place)
    })
    afterEach(() => place.pool.query(`truncate ${place.schema}.charge`))
    afterAll(async () => {
      await orm.close?.()
      await place.close()
    })

    const committed = async (): Promise<string[]> => {
      const { rows } = await place.pool.query<{ payment: string }>(
        `select payment from ${place.schema}.charge order by id`,
      )
      return rows.map(({ payment }) => payment)
    }

    /** One message, in as many copies, tried twice. */
    const consume = async (handle: Work, copies: number = 1, outbox?: PostgresOutbox): Promise<Run> => {
      const events: ObserverEvent[] = []
      const consumer = defineConsumer({
        name: 'orm',
        id: messageId.header('id'),
        maxAttempts: 2,
        backoff: { initialMs: 1 },
        store: await place.newInbox(outbox && { outbox }),
        observe: (event) => void events.push(event),
        handle,
      })
      const broker = new MemoryBroker({ partitions: 1 })
      const id = uniqueName('charge')
      for (let copy = 0; copy < copies; copy++) broker.publish('charges', { value: Buffer.from('{}'), headers: { id } })
      const running = await runMemory(broker, consumer, { topic: 'charges', group: id })
      await broker.drained('charges', id)
      await running.stop()
      return {
        outcomes: events.flatMap((event) => (event.type === 'delivery' ? [event.outcome] : [])),
        failures: events.flatMap((event) => (event.type === 'attempt-failed' ? [codeOf(event.error)] : [])),
      }
    }

    it('commits what it wrote with the mark, once for three deliveries', async () => {
      const { outcomes } = await consume(async ({ tx }) => void (await orm.insert(tx, 'once')), 3)
      expect(outcomes[0]).toBe('handled')
      expect(outcomes).toHaveLength(3)
      expect(await committed()).toEqual(['once'])
    })

    it('has what is published with ctx.publish commit with its writes, and nothing of a handler that throws', async () => {
      const kafka = new Confirming()
      const outbox = postgresOutbox({ pool: place.newPool(), schema: place.schema, publishers: { kafka } })
      outbox.start()
      const run = await consume(
        async ({ tx, attempt, publish }) => {
          await orm.insert(tx, `attempt ${attempt}`)
          await publish({ topic: 'charged', value: `event of attempt ${attempt}` })
          if (attempt === 1) throw new Error('thrown')
        },
        1,
        outbox,
      )
      expect(run).toEqual({ outcomes: ['handled'], failures: ['thrown'] })
      await eventually(async () => kafka.sent.length > 0)
      await outbox.stop(0)
      expect([await committed(), kafka.texts]).toEqual([['attempt 2'], ['event of attempt 2']])
    })

    it('sees what it wrote, in its own types, and how many rows it changed', async () => {
      const seen: unknown[] = []
      const before = Date.now()
      const { failures } = await consume(async ({ tx }) => {
        await orm.insert(tx, 'first')
        await tx.query(`insert into ${place.schema}.charge (payment) values ('second')`)
        seen.push(await orm.setCents(tx, 300), await orm.all(tx))
      })
      expect(failures).toEqual([])
      const at = expect.any(Date)
      expect(seen).toEqual([
        2,
        [
          expect.objectContaining({ payment: 'first', cents: 300, at }),
          expect.objectContaining({ payment: 'second', cents: 300, at }),
        ],
      ])
      const [, rows] = seen as [number, Charge[]]
      expect(Math.abs((rows[0]?.at.getTime() ?? 0) - before)).toBeLessThan(60_000)
    })

    it('rolls back what it wrote when the handler throws', async () => {
      const run = await consume(async ({ tx, attempt }) => {
        await orm.insert(tx, `attempt ${attempt}`)
        if (attempt === 1) throw new Error('thrown')
      })
      expect(run).toEqual({ outcomes: ['handled'], failures: ['thrown'] })
      expect(await committed()).toEqual(['attempt 2'])
    })

    it('leaves nothing in its session, which would cost the connection', async () => {
      const inbox = await place.newInbox({ pool: place.newPool({ max: 2 }) })
      const backends = new Set<unknown>()
      for (const payment of ['one', 'two', 'three']) {
        const { claim } = await hold(inbox, newItem())
        const { tx } = lend(claim)
        backends.add((await tx.query('select pg_backend_pid() as pid')).rows[0]?.['pid'])
        await orm.insert(tx, payment)
        await orm.transaction(tx, (inner) => inner.insert(`${payment}, nested`))
        expect(await inbox.mark([claim])).toEqual(['marked'])
      }
      expect([...backends]).toHaveLength(1)
    })

    it('rejects what it is asked after the handler, with TRANSACTION_OVER', async () => {
      let lent: PgTransaction | undefined
      await consume(async ({ tx }) => void (lent = tx))
      const late = orm.insert(lent as PgTransaction, 'late').catch(codeOf)
      expect(await late).toBe('TRANSACTION_OVER')
      expect(await committed()).toEqual([])
    })

    it('left not awaited, it keeps the transaction from being committed: FLOATING_QUERY', async () => {
      const floating: Promise<unknown>[] = []
      const run = await consume(async ({ tx, attempt }) => {
        await orm.insert(tx, `attempt ${attempt}`)
        if (attempt > 1) return
        floating.push(orm.stall(tx, 0.2).catch(codeOf))
        await turns()
      })
      expect(run).toEqual({ outcomes: ['handled'], failures: ['FLOATING_QUERY'] })
      await Promise.all(floating)
      expect(await committed()).toEqual(['attempt 2'])
    })

    it('asked for something as the handler ends, it keeps the transaction from being committed too', async () => {
      const floating: Promise<unknown>[] = []
      const run = await consume(async ({ tx, attempt }) => {
        if (attempt === 1) floating.push(orm.insert(tx, 'late').catch(codeOf))
      })
      expect(run).toEqual({ outcomes: ['handled'], failures: ['FLOATING_QUERY'] })
      await Promise.all(floating)
      expect(await committed()).toEqual([])
    })

    it('has no mark where the handler swallowed an error of the database', async () => {
      const run = await consume(async ({ tx, attempt }) => {
        await orm.insert(tx, `attempt ${attempt}`)
        if (attempt > 1) return
        await orm.transaction(tx, async ({ insert }) => {
          await insert('twice')
          await insert('twice').catch(() => {})
        })
      })
      expect(run.outcomes).toEqual(['handled'])
      expect(run.failures).toHaveLength(1)
      expect(await committed()).toEqual(['attempt 2'])
    })

    describe('in a transaction of its own', () => {
      it('commits with the mark, not before', async () => {
        const seen: string[][] = []
        const run = await consume(async ({ tx, attempt }) => {
          await orm.transaction(tx, ({ insert }) => insert(`attempt ${attempt}`))
          seen.push(await committed())
          if (attempt === 1) throw new Error('thrown')
        })
        expect(run).toEqual({ outcomes: ['handled'], failures: ['thrown'] })
        expect(seen).toEqual([[], []])
        expect(await committed()).toEqual(['attempt 2'])
      })

      it('undoes what it rolls back, and nothing else', async () => {
        const run = await consume(async ({ tx }) => {
          await orm.insert(tx, 'before')
          const undone = orm.transaction(tx, async ({ insert }) => {
            await insert('undone')
            await insert('undone')
          })
          expect(await undone.catch(codeOf)).toMatch(/^(?:23505|P2002)$/)
          await orm.transaction(tx, ({ insert }) => insert('after'))
        })
        expect(run).toEqual({ outcomes: ['handled'], failures: [] })
        expect(await committed()).toEqual(['before', 'after'])
      })

      it('nests by its own means', async () => {
        let nests = false
        const run = await consume(async ({ tx }) => {
          await orm.transaction(tx, async ({ insert, nested }) => {
            await insert('outer')
            if (nested === undefined) return
            nests = true
            await nested((inner) => inner.insert('inner'))
            const undone = nested(async (inner) => {
              await inner.insert('undone')
              throw new Error('undone')
            })
            expect(await undone.catch(codeOf)).toBe('undone')
          })
        })
        expect(run).toEqual({ outcomes: ['handled'], failures: [] })
        expect(await committed()).toEqual(nests ? ['outer', 'inner'] : ['outer'])
      })

      it('refuses another isolation level', async () => {
        const run = await consume(async ({ tx, attempt }) => {
          if (attempt === 1) await orm.serializable(tx, ({ insert }) => insert('never'))
        })
        expect(run.outcomes).toEqual(['handled'])
        expect(run.failures).toEqual([expect.stringMatching(/level that its connection asks for|25001|P2039/)])
        expect(await committed()).toEqual([])
      })

      it('refuses a second one beside it', async () => {
        const run = await consume(async ({ tx, attempt }) => {
          if (attempt > 1) return
          const one = orm.transaction(tx, async ({ insert }) => {
            await insert('one')
            await orm.transaction(tx, (other) => other.insert('two'))
          })
          await one
        })
        expect(run.outcomes).toEqual(['handled'])
        expect(run.failures).toEqual([expect.stringContaining('a transaction of the ORM is open already')])
        expect(await committed()).toEqual([])
      })

      it('left open when the handler ends, it is FLOATING_QUERY', async () => {
        const floating: Promise<unknown>[] = []
        const signal = new Signal()
        let at: 'begun' | 'half' | 'ended' = 'begun'
        const reach = (next: typeof at): void => {
          at = next
          signal.notify()
        }
        const run = await consume(async ({ tx, attempt }) => {
          if (attempt > 1) return
          const left = orm.transaction(tx, async ({ insert }) => {
            await insert('half')
            reach('half')
            await signal.until(() => at === 'ended')
            await insert('other half')
          })
          floating.push(left.catch(codeOf))
          await signal.until(() => at === 'half')
        })
        reach('ended')
        expect(run).toEqual({ outcomes: ['handled'], failures: ['FLOATING_QUERY'] })
        expect(await Promise.all(floating)).toEqual(['TRANSACTION_OVER'])
        expect(await committed()).toEqual([])
      })
    })
  })
}

export async function createCharge({ pool, schema }: PgPlace): Promise<void> {
  await pool.query(`create table ${schema}.charge (id serial primary key, payment text not null unique,
    cents int not null default 1250, at timestamptz not null default now())`)
}

/** ORMs wrap errors, each in its way: what is said innermost. */
function codeOf(error: unknown): string {
  const chain = [error]
  for (let one = inside(error); one !== undefined && !chain.includes(one); one = inside(one)) chain.push(one)
  const code = chain.map((one) => textOf(one, 'code')).findLast((one) => /^(?:[A-Z_]{6,}|[0-9A-Z]{5})$/.test(one))
  const text = textOf(chain.at(-1), 'message')
  // Prisma keeps nothing but the text of an error that it does not know.
  if (text.includes('ctx.tx is over')) return 'TRANSACTION_OVER'
  return code ?? text
}

function inside(error: unknown): unknown {
  return field(error, 'cause') ?? field(error, 'driverError')
}

function textOf(of: unknown, name: string): string {
  const value = field(of, name)
  return typeof value === 'string' ? value : ''
}

function field(of: unknown, name: string): unknown {
  return typeof of === 'object' && of !== null && name in of ? (of as Record<string, unknown>)[name] : undefined
}
