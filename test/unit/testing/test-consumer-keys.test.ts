// What makes a test pass although messages would be taken for one another, or for new ones, in production.
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { defineConsumer, json, messageId, type HandlerContext } from 'consume-once'
import { memoryStore } from 'consume-once/memory'
import { testConsumer } from 'consume-once/testing'

interface Sms {
  readonly to: string
  readonly ref?: string
}
type Handle = (context: HandlerContext<Sms>) => unknown

const ONE = [{ id: 's-1', payload: { to: '+1' } }]
const TWO = [...ONE, { id: 's-2', payload: { to: '+2' } }]

function sms(handle: Handle, id: Parameters<typeof defineConsumer<Sms>>[0]['id'] = messageId.header('message-id')) {
  return defineConsumer({ name: 'sms', id, decode: json<Sms>(), store: memoryStore(), handle })
}

/** A field that handlers get wrong: there is none of this name. */
const wrongField = (context: HandlerContext<Sms>): string => (context as unknown as { readonly key: string }).key

describe('testConsumer refuses a key that messages would share', () => {
  it.each<[what: string, keyOf: (context: HandlerContext<Sms>) => unknown, shown: string]>([
    ['undefined', wrongField, 'undefined'],
    ['null', () => null, 'null'],
    ['NaN', ({ payload }) => Number(payload.to.replace('+', 'x')), 'NaN'],
    ['no text', () => '', '""'],
    ['blanks', () => '  ', '"  "'],
    ['text of undefined', (context) => `sms-${wrongField(context)}`, '"sms-undefined"'],
    ['text of null', () => ['sms', String(null)].join(':'), '"sms:null"'],
    ['text of an object', ({ payload }) => `sms-${payload as unknown as string}`, '"sms-[object Object]"'],
  ])('%s, of a Map and of a Set', async (_, keyOf, shown) => {
    const why =
      `testConsumer: delivered once: message {"to":"+1"}: its effect was kept under the key ${shown}, which other messages ` +
      'would share: expected one of its own. The key for a provider is ctx.idempotencyKey' +
      (shown.includes('undefined') ? '. `undefined`: the payload may have no such field' : '')
    const map = new Map<unknown, string>()
    const intoMap = sms((context) => void map.set(keyOf(context), context.payload.to))
    await expect(testConsumer(intoMap, { messages: ONE, effects: map })).rejects.toThrow(why)
    const set = new Set<unknown>()
    const intoSet = sms((context) => void set.add(keyOf(context)))
    await expect(testConsumer(intoSet, { messages: ONE, effects: set })).rejects.toThrow(why)
  })

  it('but not a word of the message itself, nor JSON', async () => {
    const sent = new Set<string>()
    const consumer = sms(
      ({ payload }) => void sent.add(`${payload.to} ${JSON.stringify({ ref: null, to: payload.to })}`),
    )
    const messages = [{ id: 's-1', payload: { to: 'undefined behaviour' } }]
    await expect(testConsumer(consumer, { messages, effects: sent })).resolves.toEqual({ published: [] })
  })

  it.each<[what: string, keep: (sent: Map<string, string>, key: string) => void]>([
    ['written twice', (sent, key) => void sent.set(key, 'sent')],
    ['looked up', (sent, key) => void (sent.has(key) || sent.set(key, 'sent'))],
  ])('one that two messages share, %s', async (_, keep) => {
    const sent = new Map<string, string>()
    const consumer = sms(() => keep(sent, 'sms'))
    await expect(testConsumer(consumer, { messages: TWO, effects: sent })).rejects.toThrow(
      'testConsumer: delivered once: message {"to":"+2"}: its effect was kept under the key "sms", as was that of message ' +
        '{"to":"+1"}: a provider takes it for a repeat, and does nothing. The key for a provider is ctx.idempotencyKey',
    )
  })

  it('one that two messages share in a stand-in of its own', async () => {
    const calls: string[] = []
    const known = new Set<string>()
    const send = (to: string, key: string): void => {
      if (known.has(key)) return
      known.add(key)
      calls.push(to)
    }
    const consumer = sms((context) => send(context.payload.to, wrongField(context)))
    await expect(testConsumer(consumer, { messages: TWO, effects: calls })).rejects.toThrow(
      /delivered once: message \{"to":"\+2"\}: no effect was seen.*another one\? .* `undefined`: the payload may have no such field.*return ctx\.skip\(reason\), or leave it out of `messages`/,
    )
  })

  it('passes a message that is skipped, or has an effect under a key of its own', async () => {
    const sent = new Map<string, string>()
    const consumer = sms(({ payload, idempotencyKey, skip }) => {
      if (payload.to === '+2') return skip('no such country')
      return void sent.set(idempotencyKey, payload.to)
    })
    await expect(testConsumer(consumer, { messages: TWO, effects: sent })).resolves.toEqual({ published: [] })
    // Nothing of the test is left on it.
    expect(Object.getOwnPropertyNames(sent)).toEqual([])
  })
})

describe('testConsumer refuses an ID', () => {
  const sent = new Map<string, string>()
  const handle: Handle = ({ payload, idempotencyKey }) => void sent.set(idempotencyKey, payload.to)

  it.each<[what: string, id: Parameters<typeof sms>[1]]>([
    ['random', () => randomUUID()],
    ['made of the time', ({ payload }) => `${payload.to}-${Date.now()}`],
    ['made of when it was sent', ({ timestamp }) => `${timestamp}`],
    ['made of its place', ({ position }) => position],
  ])('that differs when the message comes again: %s', async (_, id) => {
    await expect(testConsumer(sms(handle, id), { messages: ONE, effects: sent })).rejects.toThrow(
      'testConsumer: sent again: message {"to":"+1"}: the same message got another ID when it came again, so it ran as a ' +
        'new one. Take the ID from what its producer sends unchanged each time, such as a field of the payload: not from ' +
        'chance, the time or an offset',
    )
  })

  it('that two messages share', async () => {
    const messages = [{ payload: { to: '+1', ref: 'a' } }, { payload: { to: '+1', ref: 'a' }, key: 'another' }]
    await expect(
      testConsumer(
        sms(handle, ({ payload }) => payload.ref),
        { messages, effects: sent },
      ),
    ).rejects.toThrow(/delivered once: message .*: it was not handled: another of `messages` has its ID/)
  })

  it('but not a window, nor the same message twice', async () => {
    const id = messageId.window(messageId.header('message-id'), { fixedMs: 60_000 })
    const messages = [...ONE, ...ONE]
    await expect(testConsumer(sms(handle, id), { messages, effects: sent })).resolves.toEqual({ published: [] })
  })
})
