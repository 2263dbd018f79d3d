import { afterAll, afterEach, describe, expect, it } from '@jest/globals'
import { messageId, once, signedId, type IdExtractor, type Logger } from '../../../../src/index.ts'
import { memoryStore } from '../../../../src/memory/index.ts'
import { endRigs, startRig, STYLES } from '../../../kit/rig.ts'
import { turns } from '../../../kit/manual-clock.ts'

/** One of them ends a process. */
const unhandled: unknown[] = []
const count = (error: unknown): void => void unhandled.push(error)
process.on('unhandledRejection', count)
afterAll(() => void process.off('unhandledRejection', count))

afterEach(async () => {
  await endRigs()
  await turns()
  if (unhandled.length > 0) throw new Error('a rejection that nobody handled', { cause: unhandled.splice(0) })
})

/** As an `async` function that throws, where a value was expected. */
const rejecting = (): never => Promise.reject(new Error('nobody waits for this')) as never

const logger = (): Logger => ({
  debug: rejecting,
  info: rejecting,
  warn: rejecting,
  error: rejecting,
  isLevelEnabled: rejecting,
})

describe.each(STYLES)('a function that returns a promise which is rejected ($strategy, $handler)', (style) => {
  it.each([
    ['id', 'id', rejecting as IdExtractor],
    ['messageId.window', 'messageId.window', messageId.window(rejecting as IdExtractor, { fixedMs: 1_000 })],
    [
      'signedId.id',
      'signedId.id',
      signedId({ id: rejecting, signature: () => 'x', secrets: ['a secret of 16 bytes'] }),
    ],
    [
      'signedId.signature',
      'signedId.signature',
      signedId({ id: () => 'a', signature: rejecting, secrets: ['a secret of 16 bytes'] }),
    ],
    [
      'sourceSequence.source',
      'sourceSequence.source',
      messageId.sourceSequence({ source: rejecting, sequence: () => 1 }),
    ],
    [
      'sourceSequence.sequence',
      'sourceSequence.sequence',
      messageId.sourceSequence({ source: () => 'a', sequence: rejecting }),
    ],
    ['fingerprint.scope', 'fingerprint.scope', messageId.fingerprint({ scope: rejecting })],
  ])('as %s is refused with its name, and its message is dead-lettered as no-id', async (_, name, id) => {
    const rig = await startRig({ style, id, effect: (work) => work.apply() })
    await rig.deliver({ id: 'a', timestamp: 1, payload: { a: 1 } })
    expect(rig.source.deadLetters).toMatchObject([{ reason: 'no-id' }])
    expect(rig.source.deadLetters[0]?.detail).toContain(`${name}: expected an answer at once, got a promise: return`)
    expect(rig.outcomes()).toEqual(['dead-lettered'])
  })

  it('as one of several IDs is refused too', async () => {
    const rig = await startRig({
      style,
      id: [messageId.header('absent'), rejecting],
      effect: (work) => work.apply(),
    })
    await rig.deliver('a')
    expect(rig.source.deadLetters[0]?.detail).toContain('id: expected an answer at once, got a promise')
  })

  it('as an observer is told to the log, and nothing is lost', async () => {
    const told: unknown[] = []
    const tell = (fields: object, text?: string): void => void told.push({ ...fields, text })
    const rig = await startRig({
      style,
      observe: rejecting,
      log: { debug: tell, info: tell, warn: tell, error: tell },
      effect: (work) => work.apply(),
    })
    await rig.deliver('a', 'b')
    expect(rig.outcomes()).toEqual(['handled', 'handled'])
    expect(told).toContainEqual(
      expect.objectContaining({ text: 'the observer threw', err: expect.objectContaining({}) }),
    )
  })

  it('as a logger changes nothing', async () => {
    const rig = await startRig({ style, log: logger(), observe: rejecting, effect: (work) => work.apply() })
    await rig.deliver('a', { id: 'bad', bytes: Buffer.from('{') })
    await rig.clock.advance(1_000)
    expect(rig.outcomes().toSorted()).toEqual(['dead-lettered', 'handled'])
  })

  it('as decode is a failure of its message', async () => {
    const rig = await startRig({ style, decode: rejecting, effect: (work) => work.apply() })
    await rig.deliver('a')
    expect(rig.source.deadLetters).toMatchObject([{ reason: 'undecodable' }])
  })
})

function declined(): never {
  throw new Error('declined')
}

describe('once()', () => {
  it('treats a promise of rememberFailure as false', async () => {
    const store = memoryStore()
    const call = once(store, 'key', declined, { rememberFailure: rejecting })
    await expect(call).rejects.toThrow('declined')
  })
})
