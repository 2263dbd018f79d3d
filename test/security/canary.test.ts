import { afterEach, describe, expect, it } from '@jest/globals'
import {
  defineConsumer,
  messageId,
  runInline,
  type ConsumerOptions,
  type HandlerContext,
  type Message,
  type ObserverEvent,
  type Outcome,
} from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { type StoreAdmin } from '../../src/internal.ts'
import { ManualClock } from '../kit/manual-clock.ts'
import { storeWith } from '../kit/store-with.ts'
import { endRigs, STYLES } from '../kit/rig.ts'
import { CANARY_ADDRESS, CANARY_ID, CANARY_PAYLOAD, careless, OutputRecorder } from './output-recorder.ts'
import { fail, LEASE_WAYS, WAYS } from './ways.ts'
import { messageWith } from '../kit/message.ts'

afterEach(endRigs)

describe.each(STYLES)('nothing of payload, ID or address is told ($strategy, $handler): [T109]', (style) => {
  it.each(WAYS)('%s', async (_, told, go) => {
    const recorder = new OutputRecorder()
    recorder.take(await go(recorder, style))
    expect([...recorder.types, ...recorder.outcomes]).toEqual(expect.arrayContaining([...told]))
    expect(recorder.leaks).toEqual([])
  })
})

describe('nothing of payload, ID or address is told, under a lease: [T110]', () => {
  it.each(LEASE_WAYS)('%s', async (_, told, go) => {
    const recorder = new OutputRecorder()
    recorder.take(await go(recorder, { strategy: 'lease', handler: 'handle' }))
    expect([...recorder.types, ...recorder.outcomes]).toEqual(expect.arrayContaining([...told]))
    expect(recorder.leaks).toEqual([])
  })
})

describe('nothing of payload, ID or address is told where something is remembered, or purged: [T111]', () => {
  const message: Message = messageWith({
    key: Buffer.from(CANARY_ID),
    value: Buffer.from(JSON.stringify(CANARY_PAYLOAD)),
    headers: { id: CANARY_ID },
  })

  const REMEMBERING: readonly (readonly [string, readonly string[], Remembering])[] = [
    ['a result', ['handled', 'duplicate'], { handle: () => CANARY_PAYLOAD, rememberResult: true }],
    ['a failure', ['handled', 'duplicate'], { handle: fail, rememberFailure: () => true }],
    ['a result that throws', ['result-not-kept'], { handle: () => ({ toJSON: fail }), rememberResult: true }],
    [
      'a seal that throws',
      ['result-not-kept'],
      { handle: () => 1, rememberResult: true, sealResult: { seal: fail, open: fail } },
    ],
    [
      'an open that throws',
      ['source'],
      { handle: () => 1, rememberResult: true, sealResult: { seal: (text) => text, open: fail } },
    ],
    [
      'a handler that skips for a reason that repeats its message',
      ['skipped', 'duplicate'],
      { handle: ({ skip }) => skip(careless().message) },
    ],
    ['a rememberFailure that throws', ['policy-threw'], { handle: fail, rememberFailure: fail, maxAttempts: 1 }],
  ]

  it.each(REMEMBERING)('%s', async (_, told, options) => {
    const recorder = new OutputRecorder()
    const { log, observe } = recorder
    const consumer = defineConsumer({
      name: 'c',
      id: messageId.header('id'),
      store: memoryStore(),
      ...options,
      log,
      observe,
    })
    await using running = runInline(consumer, { group: 'group' })
    for (let delivery = 0; delivery < 2; delivery++) {
      const { result: __, failure: ___, deadLetter, ...settlement } = await running.handle(message)
      recorder.recorded.push(JSON.stringify(settlement))
      if (deadLetter !== undefined) recorder.deadLetter(deadLetter)
    }
    expect([...recorder.types, ...recorder.outcomes]).toEqual(expect.arrayContaining([...told]))
    expect(recorder.leaks).toEqual([])
  })

  it('a purge that fails, and one that does not', async () => {
    const recorder = new OutputRecorder()
    const clock = new ManualClock()
    const answers = [
      () => Promise.reject(new Error(`no connection to ${CANARY_ADDRESS}`)),
      () => Promise.resolve({ removed: 1, more: false }),
    ]
    const store = storeWith((memory) => ({
      admin: {
        ...memory.admin,
        purge: () => answers.shift()?.() ?? Promise.resolve({ removed: 0, more: false }),
      } as StoreAdmin,
    }))
    const { log, observe } = recorder
    const consumer = defineConsumer({ name: 'c', store, handle: () => {}, log, observe })
    await using running = runInline(consumer, { group: 'group', clock })
    await running.open()
    for (let minute = 0; minute < 40; minute++) await clock.advance(60_000)
    expect([...recorder.types]).toEqual(expect.arrayContaining(['purge-failed', 'purged']))
    expect(recorder.leaks).toEqual([])
  })
})

it('each kind of event that can tell something of a message was listened to [T112]', () => {
  const told = new Set([...WAYS, ...LEASE_WAYS].flatMap(([, types]) => types))
  const elsewhere: readonly ObserverEvent['type'][] = ['result-not-kept', 'policy-threw', 'purged', 'purge-failed']
  // Each outcome of a delivery is such a kind; the other events hold numbers, keys, or words of our own.
  const others: readonly string[] = [
    'started',
    'stopped',
    'stalled',
    'stall-over',
    'hold-over',
    'paused',
    'resumed',
    'handler-run',
    'delivery',
    'apart',
    'settles',
    'source',
    'invariant-broken',
  ]
  const types = Object.keys(TYPES).filter((type) => !others.includes(type))
  expect(types.filter((type) => !told.has(type) && !elsewhere.includes(type as ObserverEvent['type']))).toEqual([])
  // In the list above, of handlers that return something.
  expect(Object.keys(OUTCOMES).filter((outcome) => !told.has(outcome))).toEqual(['skipped'])
})

type Remembering = Pick<
  ConsumerOptions<unknown, unknown, never>,
  'rememberResult' | 'rememberFailure' | 'sealResult' | 'maxAttempts'
> & { readonly handle: (context: HandlerContext<unknown>) => unknown }

const TYPES: Readonly<Record<ObserverEvent['type'], true>> = {
  started: true,
  stalled: true,
  'stall-over': true,
  holding: true,
  'hold-over': true,
  paused: true,
  resumed: true,
  stopped: true,
  'handler-run': true,
  'store-call': true,
  delivery: true,
  'attempt-failed': true,
  'put-off': true,
  'limit-down': true,
  'limit-up': true,
  'in-doubt': true,
  apart: true,
  claims: true,
  marks: true,
  'result-not-kept': true,
  'policy-threw': true,
  'beyond-retention': true,
  'lease-lost': true,
  observed: true,
  'unprotected-run': true,
  stuck: true,
  'publish-failed': true,
  purged: true,
  'purge-failed': true,
  'store-down': true,
  'store-up': true,
  'decode-down': true,
  'decode-up': true,
  settles: true,
  source: true,
  'invariant-broken': true,
}

const OUTCOMES: Readonly<Record<Outcome, true>> = {
  handled: true,
  skipped: true,
  duplicate: true,
  joined: true,
  'handed-back': true,
  failed: true,
  'settle-refused': true,
  'dead-lettered': true,
  parked: true,
  'lease-lost': true,
}
