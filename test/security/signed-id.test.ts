import { createHmac } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import {
  defineConsumer,
  messageId,
  runInline,
  signedId,
  type Message,
  type Settlement,
  type SignedIdOptions,
} from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'

const OLD = 'a secret that is being replaced'
const NEW = Buffer.from('the secret that replaces it')
const SIGNED: SignedIdOptions = {
  id: messageId.header('id'),
  signature: messageId.header('signature'),
  secrets: [NEW, OLD],
}

function signed(id: string, secret: string | Uint8Array): Buffer {
  return createHmac('sha256', secret).update(id).digest()
}

function messageOf(headers: Message['headers']): Message {
  const place = { destination: 'queue', origin: 'queue', position: '1' }
  return { system: 'rabbitmq', ...place, key: null, value: Buffer.from('{}'), headers }
}

/** What becomes of messages, in one process after the other. */
async function settled(...messages: readonly Message['headers'][]): Promise<readonly Settlement[]> {
  const options = { name: 'consumer', id: signedId(SIGNED), store: memoryStore(), handle: () => {} }
  await using running = runInline(defineConsumer(options), { group: 'group' })
  const settlements: Settlement[] = []
  for (const headers of messages) settlements.push(await running.handle(messageOf(headers)))
  return settlements
}

describe('an ID that is signed', () => {
  it.each([
    ['bytes', (bytes: Buffer) => bytes],
    ['base64', (bytes: Buffer) => bytes.toString('base64')],
    ['base64url', (bytes: Buffer) => bytes.toString('base64url')],
    ['hexadecimal', (bytes: Buffer) => bytes.toString('hex')],
    ['upper-case hexadecimal', (bytes: Buffer) => bytes.toString('hex').toUpperCase()],
    ['the bytes of text, as Kafka has it', (bytes: Buffer) => Buffer.from(bytes.toString('hex'))],
  ])('is taken with its signature as %s, by the old secret and by the new [T93]', async (_, written) => {
    const [first, second, again] = await settled(
      { id: 'a', signature: written(signed('a', NEW)) },
      { id: 'b', signature: written(signed('b', OLD)) },
      { id: 'a', signature: written(signed('a', OLD)) },
    )
    expect([first?.outcome, second?.outcome, again?.outcome]).toEqual(['handled', 'handled', 'duplicate'])
  })

  it.each([
    ['none', undefined],
    ['one of another ID', signed('b', NEW)],
    ['one by a secret that nobody here knows', signed('a', 'a secret of somebody else')],
    ['one that is cut', signed('a', NEW).subarray(0, 31)],
    ['one that is too long', Buffer.concat([signed('a', NEW), Buffer.from([0])])],
    ['an empty one', ''],
    ['32 characters that are no signature', 'x'.repeat(32)],
    ['43 characters with one that is no base64', `${signed('a', NEW).toString('base64url').slice(0, 42)}*`],
    ['two that differ', [signed('a', NEW), signed('a', OLD)]],
  ])('is not taken with %s: dead-lettered as no-id, and the ID is not burnt [T94]', async (_, signature) => {
    const [forged, real] = await settled(signature === undefined ? { id: 'a' } : { id: 'a', signature }, {
      id: 'a',
      signature: signed('a', NEW),
    })
    expect(forged).toMatchObject({ outcome: 'dead-lettered', settle: 'dead-letter', reason: 'no-id' })
    expect(forged?.deadLetter?.detail).toMatch(/signature/)
    expect(real?.outcome).toBe('handled')
  })

  it('says that there is no ID where there is none', async () => {
    const [settlement] = await settled({ signature: signed('', NEW) })
    expect(settlement?.deadLetter?.detail).toMatch(/^no message ID/)
  })

  it('is asked for with all that it takes', () => {
    const wrong: readonly unknown[] = [
      undefined,
      { ...SIGNED, secrets: [] },
      { ...SIGNED, secrets: OLD },
      { ...SIGNED, secrets: [OLD, 'short'] },
      { ...SIGNED, secrets: [OLD, undefined] },
      { ...SIGNED, id: 'id' },
      { ...SIGNED, signature: undefined },
      { ...SIGNED, secret: OLD },
    ]
    for (const options of wrong) expect(() => signedId(options as SignedIdOptions)).toThrow(/^(?:\d problems|signedId)/)
    expect(() => signedId({ ...SIGNED, secrets: ['tell nobody'] })).toThrow(/^(?!.*tell nobody)/s)
  })
})
