import { afterEach, describe, expect, it } from '@jest/globals'
import { headersToKeep } from '../../adapters/amqplib/message/headers.ts'
import { headersOf } from '../../adapters/kafka/copies/headers.ts'
import { cloudEvent, defineConsumer, messageId, runInline, standardId, type Message } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'

const POISON = '{"__proto__":{"polluted":"yes"},"constructor":{"prototype":{"polluted":"yes"}},"to":"+1"}'

afterEach(() => {
  const added = Object.keys(Object.prototype)
  if (added.length > 0 || 'polluted' in {}) throw new Error(`all objects inherit ${added.join(', ')}`)
})

function messageOf(headers: Message['headers'], value = POISON): Message {
  const place = { destination: '__proto__', origin: 'constructor', position: '1' }
  return { system: 'rabbitmq', ...place, key: Buffer.from('__proto__'), value: Buffer.from(value), headers }
}

function own(json: string): Record<string, unknown> {
  return JSON.parse(json) as Record<string, unknown>
}

/** Options that a message would like to change. */
const WISHES = {
  maxAttempts: 1,
  retentionMs: 1,
  rememberResult: true,
  onConflict: 'duplicate',
  scope: 'mine',
  handle: 'x',
}

describe('a message from a stranger', () => {
  it.each(['handled', 'failed', 'remembered'])('changes no object but its own: %s [T103]', async (way) => {
    const seen: unknown[] = []
    const consumer = defineConsumer({
      name: '__proto__',
      id: messageId.header('id'),
      store: memoryStore(),
      maxAttempts: 1,
      ...(way === 'remembered' ? { rememberResult: true } : {}),
      handle: ({ payload }: { readonly payload: unknown }) => {
        seen.push(payload)
        if (way === 'failed') throw Object.assign(new Error('no'), own(POISON))
        return payload
      },
    })
    await using running = runInline(consumer, { group: '__proto__' })
    const headers = own(`{"__proto__":{"polluted":"yes"},"id":"__proto__"}`)
    const first = await running.handle(messageOf(headers))
    const second = await running.handle(messageOf(headers))
    expect([first.outcome, second.outcome]).toEqual(
      way === 'failed' ? ['dead-lettered', 'dead-lettered'] : ['handled', 'duplicate'],
    )
    expect(Object.keys(seen[0] as object)).toEqual(['__proto__', 'constructor', 'to'])
    expect(Object.keys(second.result ?? {})).toEqual(way === 'remembered' ? ['__proto__', 'constructor', 'to'] : [])
  })

  it('has no options: neither payload nor headers are merged into them [T104]', async () => {
    const starts: string[] = []
    const consumer = defineConsumer({
      name: 'consumer',
      id: messageId.header('id'),
      store: memoryStore(),
      handle: ({ message }) => void starts.push(String(message.headers['id'])),
    })
    await using running = runInline(consumer, { group: 'group' })
    const wishes = JSON.stringify({ ...WISHES, options: WISHES, consumer: WISHES, __proto__: WISHES })
    await running.handle(messageOf({ ...WISHES, id: 'a' }, wishes))
    // `scope: 'mine'` would make one message of two topics, `onConflict: 'duplicate'` swallow the third.
    await running.handle({ ...messageOf({ ...WISHES, id: 'a' }, wishes), origin: 'another topic' })
    const conflict = await running.handle(messageOf({ ...WISHES, id: 'a' }, '{}'))
    expect(starts).toEqual(['a', 'a'])
    expect(conflict).toMatchObject({ outcome: 'dead-lettered', reason: 'conflict' })
    expect('result' in (await running.handle(messageOf({ ...WISHES, id: 'a' }, wishes)))).toBe(false)
  })

  it('has no ID but its own: none that its headers inherit [T105]', () => {
    const inherited = Object.create({ id: 'a', ce_id: 'a', ce_source: 'b', 'message-id': 'a' }) as Message['headers']
    for (const extract of [messageId.header('id', '__proto__', 'constructor'), cloudEvent(), standardId()]) {
      expect(extract({ ...messageOf(inherited), payload: undefined })).toBeUndefined()
    }
  })
})

describe('a copy of a message', () => {
  it('of RabbitMQ keeps a header named __proto__, and nothing that it would inherit [T106]', () => {
    const kept = headersToKeep(own('{"__proto__":{"consume-once-origin-queue":"another"},"id":"a"}'))
    expect(Object.keys(kept).toSorted()).toEqual(['__proto__', 'id'])
    expect(kept['consume-once-origin-queue']).toBeUndefined()
  })

  it('of Kafka keeps a header named __proto__, and nothing that it would inherit [T107]', () => {
    const headers = headersOf(own('{"__proto__":["x","y"],"id":"a"}'))
    expect(Object.keys(headers).toSorted()).toEqual(['__proto__', 'id'])
    expect(Object.getPrototypeOf(headers)).toBeNull()
  })
})
