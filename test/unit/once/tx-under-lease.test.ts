import { describe, expect, it } from '@jest/globals'
import { memoryStore, once } from 'consume-once'
import { idempotent } from 'consume-once/http'

interface WithTx {
  readonly tx: { query(text: string): Promise<void> }
}

const insert = (context: object): Promise<void> => (context as WithTx).tx.query('insert')
const look = (context: object): unknown =>
  'tx' in { ...context } ? 'copied' : String((context as { tx?: unknown }).tx)
const answer = async (_request: Request, context: object): Promise<Response> => {
  await insert(context)
  return new Response('done')
}
const SENTENCE = /^context\.tx: expected a store that opens a transaction, such as postgresInbox/

describe('context.tx under a lease', () => {
  it('of once() says which store has a transaction, and frees the key', async () => {
    const store = memoryStore()
    const failed = once(store, 'a', insert)
    await expect(failed).rejects.toMatchObject({ message: expect.stringMatching(SENTENCE) })
    await expect(failed).rejects.toHaveProperty('cause')
    expect(await once(store, 'a', () => 'sent')).toEqual({ result: 'sent', replayed: false })
  })

  it('of once() says so where the function throws at once', async () => {
    await expect(once(memoryStore(), 'a', (context) => void insert(context))).rejects.toThrow(SENTENCE)
  })

  it('of once() is undefined, and no part of a copy, for a function that looks whether there is one', async () => {
    expect(await once(memoryStore(), 'a', look)).toMatchObject({ result: 'undefined' })
  })

  it('of once() leaves another failure as it is', async () => {
    const other = new TypeError('no tariff for undefined')
    const failing = (context: object): never => {
      void (context as { tx?: unknown }).tx
      throw other
    }
    await expect(once(memoryStore(), 'a', failing)).rejects.toBe(other)
  })

  it('of a guard of HTTP says which store has a transaction', async () => {
    const handler = idempotent(answer as never, { store: memoryStore(), caller: () => 'me' })
    const request = new Request('http://localhost/pay', {
      method: 'POST',
      headers: { 'Idempotency-Key': 'a' },
      body: '{}',
    })
    await expect(handler(request)).rejects.toThrow(SENTENCE)
  })
})
