import { describe, expect, it } from '@jest/globals'
import {
  defineConsumer,
  messageId,
  OutcomeUnknownError,
  runInline,
  type ConsumerOptions,
  type Settlement,
} from 'consume-once'
import { memoryStore } from 'consume-once/memory'
import { pgClient, type PgTransaction } from 'consume-once/pg'

const message = {
  system: 'test',
  destination: 't',
  origin: 't',
  position: '0',
  key: null,
  value: Buffer.from('{}'),
  headers: { id: 'a' },
} as const

type Options = ConsumerOptions<unknown, unknown, never>
/** What the author of the handler expects. */
type InTransaction = { readonly tx: PgTransaction }

async function save(tx: PgTransaction): Promise<void> {
  await tx.query('insert')
}

interface LogLine {
  readonly err?: { readonly message: string; readonly stack: string }
}

async function ended(
  handling: Readonly<Record<string, ((context: never) => unknown) | 'park'>>,
  lines: LogLine[] = [],
): Promise<Settlement> {
  const add = (line: LogLine): void => void lines.push(line)
  const log = { debug: add, info: add, warn: add, error: add }
  const backoff = { initialMs: 1, maxMs: 1 }
  const options = { name: 'leased', id: messageId.header('id'), store: memoryStore(), log, backoff, ...handling }
  const running = runInline(defineConsumer(options as unknown as Options), { group: 'g' })
  try {
    return await running.handle(message)
  } finally {
    await running.stop()
  }
}

describe('ctx.tx under a lease', () => {
  it.each(['handle', 'handleBatch'])(
    'ends a message of %s at once, and says which store has a transaction',
    async (name) => {
      let runs = 0
      const work = async ({ tx }: InTransaction): Promise<void> => {
        runs++
        await tx.query('insert')
      }
      const settlement = await ended({ [name]: work })
      expect(runs).toBe(1)
      expect(settlement).toMatchObject({ settle: 'dead-letter', outcome: 'dead-lettered' })
      expect(settlement.deadLetter?.detail).toMatch(
        /ctx\.tx: expected a store that opens a transaction, such as postgresInbox/,
      )
    },
  )

  it.each<[string, handle: (context: InTransaction) => unknown]>([
    ['takes it apart', async ({ tx: { query } }) => query('insert')],
    ['gives it to a function', async ({ tx }) => save(tx)],
    ['gives it to an ORM', async ({ tx }) => pgClient(tx).query('insert')],
    [
      'wraps the error',
      async ({ tx }) =>
        save(tx).catch((cause: unknown) => {
          throw new Error('not saved', { cause })
        }),
    ],
  ])('has its sentence in the first line of the log, with the place, for a handler that %s', async (_name, handle) => {
    const lines: LogLine[] = []
    expect(await ended({ handle }, lines)).toMatchObject({ settle: 'dead-letter', deadLetter: { attempts: 1 } })
    const [first] = lines.flatMap(({ err }) => err ?? [])
    expect(first?.message).toMatch(/^ctx\.tx: expected a store that opens a transaction/)
    expect(first?.stack).toContain('tx-under-lease.test.ts')
  })

  it('leaves what the handler says itself about its effect', async () => {
    const settlement = await ended({
      onInDoubt: 'park',
      handle: ({ tx }: InTransaction) =>
        save(tx).catch((cause: unknown) => {
          throw new OutcomeUnknownError('the provider was asked', { cause })
        }),
    })
    expect(settlement).toMatchObject({ outcome: 'parked', reason: 'in-doubt' })
  })

  it.each<[name: string, handle: (context: { readonly tx?: { query(text: string): void } }) => void]>([
    ['takes it apart', ({ tx }) => void tx],
    ['looks whether there is one', ({ tx }) => tx?.query('insert')],
  ])('is undefined for a handler that %s', async (_name, handle) => {
    expect(await ended({ handle })).toMatchObject({ outcome: 'handled' })
  })

  it('leaves another failure as it is, also one that asked before', async () => {
    const settlement = await ended({
      handle: ({ tx }: { readonly tx?: unknown }) => {
        throw new TypeError(`no tariff for ${String(tx)}`)
      },
    })
    expect(settlement).toMatchObject({ reason: 'attempts-spent' })
  })

  it('ends with its failure when the handler asks, and throws what cannot even be looked at', async () => {
    const settlement = await ended({
      handle: ({ tx }: { readonly tx?: unknown }) => {
        const { proxy, revoke } = Proxy.revocable({ tx }, {})
        revoke()
        // oxlint-disable-next-line typescript/only-throw-error -- that is the case
        throw proxy
      },
    })
    expect(settlement).toMatchObject({ reason: 'attempts-spent' })
  })

  it('is not asked for by a copy of the context', async () => {
    expect(await ended({ handle: (context: object) => void { ...context } })).toMatchObject({ outcome: 'handled' })
  })
})
