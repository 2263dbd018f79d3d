import { describe, expect, it } from '@jest/globals'
import {
  ConfigError,
  defineConsumer,
  doctor,
  messageId,
  type CheckFinding,
  type Subscription,
  type Consumer,
  type ConsumerSettings,
  type Store,
} from '../../../src/index.ts'
import { memoryStore } from '../../../src/memory/index.ts'
import { durationText, type CheckedConsumer } from '../../../src/internal.ts'
import { storeWith } from '../../kit/store-with.ts'
import { MemoryInbox } from '../../../testing/stores/memory-inbox.ts'
import { MemoryOffsets } from '../../../testing/stores/memory-offsets.ts'

function consumerOn(
  store: Store<unknown>,
  settings: Partial<ConsumerSettings<unknown, unknown, unknown>> = {},
): Consumer {
  return defineConsumer({ name: 'sms-sender', store, handle: () => {}, ...settings })
}

function storeThatFinds(...findings: readonly CheckFinding[]): Store {
  return storeWith(() => ({ checkup: async () => findings }))
}

function brokerThatFinds(...findings: readonly CheckFinding[]): Subscription {
  return { group: 'g', origins: ['t'], checkup: async () => findings }
}

const holds: CheckFinding = { check: 'x.a', verdict: 'holds', found: 'a is on', meaning: '' }
const weaker: CheckFinding = { check: 'x.b', verdict: 'weaker', found: 'b is off', meaning: 'A crash loses b.' }
const broken: CheckFinding = { check: 'x.c', verdict: 'broken', found: 'c is off', meaning: 'Nothing is kept.' }
const unknown: CheckFinding = { check: 'x.d', verdict: 'unknown', found: 'd: forbidden', meaning: 'Ask for d.' }

describe('doctor', () => {
  it('tells no password that a server or its client repeats', async () => {
    const told = { check: 'x', verdict: 'weaker', found: 'redis://ana:s3cret@r:6379 is slow' } as const
    const finding = { ...told, meaning: 'See redis://ana:s3cret@r:6379.' }
    const diagnosis = await doctor(consumerOn(storeThatFinds(finding)), brokerThatFinds())
    expect(JSON.stringify(diagnosis)).toContain('r:6379 is slow')
    expect(JSON.stringify(diagnosis)).not.toContain('s3cret')
  })

  it('says that mode observe protects nothing', async () => {
    const { guarantee } = await doctor(consumerOn(storeThatFinds(holds), { mode: 'observe' }), brokerThatFinds())
    expect(guarantee).toContain("sms-sender (lease): mode 'observe' protects nothing. Every delivery runs")
    expect(guarantee).not.toContain('in doubt')
  })

  it('says what onStoreDown: run-unprotected gives up', async () => {
    const consumer = consumerOn(storeThatFinds(holds), { onStoreDown: 'run-unprotected' })
    const { guarantee } = await doctor(consumer, brokerThatFinds())
    expect(guarantee).toContain('While the store does not answer, messages run without a claim')
    expect((await doctor(consumerOn(storeThatFinds(holds)), brokerThatFinds())).guarantee).not.toContain(
      'without a claim',
    )
  })

  it('says what a store of sequences promises beside a lease, and that several identities count each', async () => {
    const plain = (await doctor(consumerOn(storeThatFinds(holds)), brokerThatFinds())).guarantee
    const numbered = storeWith(() => ({ keys: 'sequences', checkup: async () => [holds] }))
    const id = messageId.sourceSequence({ source: messageId.header('meter'), sequence: messageId.header('seq') })
    const { guarantee } = await doctor(consumerOn(numbered, { id }), brokerThatFinds())
    expect(guarantee).toContain("is parked, or dropped under onBehind: 'duplicate'")
    expect(plain).not.toContain('onBehind')
    const inInbox = consumerOn({ ...numbered, strategy: 'inbox' } as unknown as Store, { id })
    const { guarantee: ofInbox } = await doctor(inInbox, brokerThatFinds())
    expect(ofInbox).toContain('what it writes through ctx.tx commits once')
    expect(ofInbox).toContain("is parked, or dropped under onBehind: 'duplicate'")
    const two = consumerOn(storeThatFinds(holds), { id: [messageId.header('a'), messageId.header('b')] })
    expect((await doctor(two, brokerThatFinds())).guarantee).toContain('each of its 2 identities')
    expect(plain).not.toContain('identities')
  })

  it('says what is promised, where nothing weakens it', async () => {
    const diagnosis = await doctor(consumerOn(storeThatFinds(holds)), brokerThatFinds(holds))
    expect(diagnosis).toMatchObject({ consumer: 'sms-sender', strategy: 'lease', verdict: 'holds', unreachable: [] })
    expect(diagnosis.guarantee).toContain('(30 s), what was under way (64 at most) is in doubt and runs again')
    expect(diagnosis.guarantee).toContain('more than 7 days after the mark')
    expect(diagnosis.guarantee).toContain('Nothing was found that weakens it.')
  })

  it('tells the worst as its verdict, and each finding in its paragraph, worst first', async () => {
    const diagnosis = await doctor(consumerOn(storeThatFinds(holds, weaker, broken)), brokerThatFinds(unknown, weaker))
    expect(diagnosis.verdict).toBe('broken')
    expect(diagnosis.findings.map(({ of, verdict }) => `${of} ${verdict}`)).toEqual([
      'store broken',
      'store weaker',
      'store holds',
      'broker weaker',
      'broker unknown',
    ])
    expect(diagnosis.guarantee).toMatch(
      /This does not hold here: x\.c \(c is off\)\. It is weaker here: x\.b \(b is off\), x\.b \(b is off\)\. Not known: x\.d \(d: forbidden\)\.$/,
    )
    expect((await doctor(consumerOn(storeThatFinds(weaker)), brokerThatFinds(unknown))).verdict).toBe('weaker')
    expect((await doctor(consumerOn(storeThatFinds(holds)), brokerThatFinds(unknown))).verdict).toBe('unknown')
  })

  it('calls unknown, never fine, what nobody can ask', async () => {
    const diagnosis = await doctor(consumerOn(storeWith(() => ({}))))
    expect(diagnosis.verdict).toBe('unknown')
    expect(diagnosis.findings.map(({ check }) => check)).toEqual(['store.checkup', 'broker.checkup'])
    expect(diagnosis.unreachable).toEqual([])
  })

  it('tells who cannot be reached, or does not answer in time, and what the other one said', async () => {
    const down = storeWith(() => ({ checkup: () => Promise.reject(new Error('connect ECONNREFUSED')) }))
    const silent: Subscription = { group: 'g', origins: ['t'], checkup: () => new Promise(() => {}) }
    const diagnosis = await doctor(consumerOn(down), silent, { timeoutMs: 20 })
    expect(diagnosis.unreachable).toEqual(['store', 'broker'])
    expect(diagnosis.verdict).toBe('unknown')
    expect(diagnosis.findings.map(({ found }) => found)).toEqual(['connect ECONNREFUSED', 'no answer within 20 ms'])
    expect((await doctor(consumerOn(down), brokerThatFinds(broken))).verdict).toBe('broken')
  })

  it('finds that a store in memory keeps no promise over a restart', async () => {
    const { verdict, findings } = await doctor(consumerOn(memoryStore()))
    expect(verdict).toBe('broken')
    expect(findings[0]).toMatchObject({ check: 'memory.durability', verdict: 'broken' })
  })

  it('tells the broker what its settings are to be held against', async () => {
    let told: CheckedConsumer | undefined
    const from: Subscription = { group: 'g', origins: ['t'], checkup: async (consumer) => ((told = consumer), []) }
    await doctor(consumerOn(memoryStore(), { retentionMs: 86_400_000, handlerTimeoutMs: 1_000 }), from)
    expect(told).toEqual({
      strategy: 'lease',
      retentionMs: 86_400_000,
      onBeyondRetention: 'run',
      leaseMs: 30_000,
      longestRunMs: 6_000,
      maxAttempts: 5,
    })
  })

  it.each([
    ['park', 'parked for a person'],
    [() => 'unknown' as const, 'your function says whether it happened'],
  ] as const)('knows what becomes of doubt under %s', async (onInDoubt, text) => {
    const { guarantee } = await doctor(consumerOn(storeThatFinds(holds), { onInDoubt }), brokerThatFinds())
    expect(guarantee).toContain(text)
  })

  it.each([
    ['run', 'runs again.'],
    ['park', 'is parked, if the message has a timestamp, else it runs again.'],
    ['skip', 'and so is one as old that was never handled.'],
  ] as const)('knows what becomes of what is older under %s', async (onBeyondRetention, text) => {
    const { guarantee } = await doctor(consumerOn(storeThatFinds(holds), { onBeyondRetention }), brokerThatFinds())
    expect(guarantee).toContain(`more than 7 days after the mark ${text.startsWith('and') ? 'is skipped' : text}`)
    expect(guarantee).toContain(text)
  })

  it.each([
    ['inbox', 'commits once, while the row is kept', new MemoryInbox()],
    ['offsets', 'commits once for each offset', new MemoryOffsets()],
  ] as const)('knows the promise of strategy %s', async (_strategy, text, store) => {
    expect((await doctor(consumerOn(store))).guarantee).toContain(text)
  })

  it('leaves an error of configuration what it is', async () => {
    const store = storeWith(() => ({ checkup: () => Promise.reject(new ConfigError(['schema: no'])) }))
    await expect(doctor(consumerOn(store))).rejects.toThrow('schema: no')
    await expect(doctor({} as Consumer)).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  })
})

describe('durationText', () => {
  it.each([
    [7 * 86_400_000, '7 days'],
    [86_400_000, '1 day'],
    [36 * 3_600_000, '36 h'],
    [90_000, '90 s'],
    [1_500, '1500 ms'],
    [0, '0 ms'],
  ])('%d is %s', (ms, text) => expect(durationText(ms)).toBe(text))
})
