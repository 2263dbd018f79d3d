import { describe, expect, it } from '@jest/globals'
import { defineConsumer, messageId, runInline, type ConsumerOptions, type Settlement } from 'consume-once'
import { memoryStore } from 'consume-once/memory'

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

async function ended(handling: Readonly<Record<string, (context: object) => unknown>>): Promise<Settlement> {
  const options = { name: 'leased', id: messageId.header('id'), store: memoryStore(), ...handling }
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
      const work = async (context: object): Promise<void> => {
        runs++
        await (context as { readonly tx: { query(text: string): Promise<void> } }).tx.query('insert')
      }
      const settlement = await ended({ [name]: work })
      expect(runs).toBe(1)
      expect(settlement).toMatchObject({ settle: 'dead-letter', outcome: 'dead-lettered' })
      expect(settlement.deadLetter?.detail).toMatch(
        /ctx\.tx: expected a store that opens a transaction, such as postgresInbox/,
      )
    },
  )

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
    expect(await ended({ handle: (context) => void { ...context } })).toMatchObject({ outcome: 'handled' })
  })
})
