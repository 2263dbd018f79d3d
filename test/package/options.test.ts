// First: it must be there before the modules that read options.
import { tablesRead } from './kit/tables-read.ts'
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { adminOf, defineConsumer, type Health, liveSignals, positionsOf, runInline, tokens } from 'consume-once'
import { MemoryBroker, memoryStore, runMemory } from 'consume-once/memory'
import { confirmedPublisher, eachDelivery, onMessage } from 'consume-once/amqplib'
import { bullmqProcessor } from 'consume-once/bullmq'
import { confirmedPublisher as kafkajsPublisher, eachBatch, eachMessage } from 'consume-once/kafkajs'
import { confirmedPublisher as platformaticPublisher } from 'consume-once/platformatic-kafka'
import { amazonMqHandler, mskHandler } from 'consume-once/lambda'
import { mysqlMigrations } from 'consume-once/mysql2'
import { postgresMigrations } from 'consume-once/pg'
import { redrivesOf, replaysOf } from 'consume-once/replay'
import { MemoryOffsets } from 'consume-once/testing'
import { Kafka, logLevel } from 'kafkajs'
import { platformaticOf } from '../kafka/client/platformatic.ts'
import type { AnyRule, AnyTable } from '../../src/foundation/options.ts'
import { optionsIn, optionsPage } from './kit/options-page.ts'
import { problemOfDefault } from './kit/told-default.ts'
import type { Found, PublicCall } from './kit/public-calls.ts'

const run = promisify(execFile)

const store = memoryStore()
const consumer = defineConsumer({ name: 'checked', store, handle: () => {} })
const subscription = { group: 'checked', origins: ['t'] }
const broker = new MemoryBroker()
const message = {
  system: 'memory',
  destination: 't',
  origin: 't',
  position: '0@0',
  key: null,
  value: null,
  headers: {},
} as const
const channel = Object.fromEntries(['ack', 'nack', 'reject', 'on', 'removeListener'].map((name) => [name, () => {}]))
const kafka = new Kafka({ brokers: ['127.0.0.1:1'], logLevel: logLevel.NOTHING, retry: { retries: 0 } })
/** As `platformaticKafka()` makes it, on each version of Node. */
const platformaticKafka = platformaticOf(['127.0.0.1:1'])
const running = runMemory(broker, consumer, { topic: 't', group: 'checked' })
const positions = defineConsumer({ name: 'positions', store: new MemoryOffsets(), handle: () => {} })

/** Arguments beside the options, by the name of their type. What is not here is left out. */
const ARGUMENTS: Readonly<Record<string, unknown>> = {
  Consumer: consumer,
  Subscription: subscription,
  Message: message,
  MemoryBroker: broker,
  string: 'text',
  number: 1,
}

/** What has public methods, by the name of its type, and by its entry point where several have one of that name. */
const HANDLES: Readonly<Record<string, readonly unknown[]>> = {
  Admin: [adminOf(consumer, subscription)],
  PositionAdmin: [positionsOf(positions, subscription)],
  Migrations: [
    postgresMigrations({ url: 'postgres://nobody@localhost/none' }),
    mysqlMigrations({ url: 'mysql://nobody@localhost/none' }),
  ],
  LiveSignals: [liveSignals()],
  Pausable: [running],
  Starting: [running],
  InlineRunning: [runInline(consumer, { group: 'checked' })],
  Tokens: [tokens(store, { secrets: ['0123456789abcdef'] })],
  MemoryBroker: [broker],
  EachBatch: [eachBatch(consumer)],
  EachDelivery: [eachDelivery(consumer)],
  EachMessage: [eachMessage(consumer)],
  './amqplib ConfirmedPublisher': [confirmedPublisher('amqp://localhost')],
  './kafkajs ConfirmedPublisher': [kafkajsPublisher(kafka)],
  './platformatic-kafka ConfirmedPublisher': [platformaticPublisher(platformaticKafka)],
  OnMessage: [onMessage(channel as never, consumer)],
  BullmqProcessor: [bullmqProcessor(consumer)],
  LambdaHandler: [mskHandler(consumer, { group: 'checked' }), amazonMqHandler(consumer, { group: 'checked' })],
  Replays: [replaysOf(consumer, subscription)],
  Redrives: [redrivesOf(consumer, subscription)],
}

/** Options of a consumer that Nest defines when the application starts: then `defineConsumer()` refuses what is inside of them. */
const DEFINED_LATER = /^(?:HandleOnce|OncePerMessage|new ConsumeOnceConsumers|ConsumeOnceModule\.forRoot)$/

let found: Found = { calls: [], options: {}, unused: [] }

beforeAll(async () => {
  const { stdout } = await run(process.execPath, ['--import', 'tsx', 'test/package/kit/public-calls.ts'], {
    maxBuffer: 2 ** 26,
  })
  found = JSON.parse(stdout) as Found
}, 240_000)

afterAll(() => running.stop())

type Callable = ((...given: readonly unknown[]) => unknown) & (new (...given: readonly unknown[]) => unknown)

/** The functions of a call: a function of the entry point, or a method of each example of its type. */
function functionsOf({ entry, name }: PublicCall): readonly ((...given: readonly unknown[]) => unknown)[] {
  const exported = jest.requireActual<Readonly<Record<string, unknown>>>(`consume-once${entry.slice(1)}`)
  const [owner = '', method] = name.replace(/^new /, '').split('.')
  const called = exported[owner] as Callable | undefined
  if (method === undefined) {
    if (called === undefined) throw new Error(`${entry} has no ${owner}`)
    return [(...given) => (name.startsWith('new ') ? new called(...given) : called(...given))]
  }
  const handles = called?.[method as never] === undefined ? (HANDLES[`${entry} ${owner}`] ?? HANDLES[owner]) : [called]
  if (handles === undefined) throw new Error(`${name}: give an example of ${owner} in HANDLES`)
  return handles.map((handle) => {
    const methods = handle as Readonly<Record<string, (...given: readonly unknown[]) => unknown>>
    return (...given) => methods[method]?.(...given)
  })
}

/** `{ retry: { topics: [options] } }` */
function within(path: readonly string[], options: object): unknown {
  return path.reduceRight<unknown>((inner, name) => (name === '0' ? [inner] : { [name]: inner }), options)
}

async function answerTo(
  call: PublicCall,
  made: (...given: readonly unknown[]) => unknown,
  options: unknown,
): Promise<string> {
  try {
    const given = call.parameters.map((type, at) => (at === call.at ? options : ARGUMENTS[type]))
    const result = made(...given) as { readonly result?: unknown; readonly next?: () => unknown } | undefined
    await (result?.next === undefined ? (result?.result ?? result) : result.next())
    return 'accepted'
  } catch (error) {
    const isCoded = (error as { readonly code?: unknown }).code === 'CONFIG_INVALID' || error instanceof TypeError
    return isCoded ? String(error) : `not a ConfigError: ${String(error)}`
  }
}

/** What the language says of a value that nothing has looked at. */
const NOT_A_SENTENCE = /Cannot (?:read|destructure|convert)|is not (?:a function|iterable|an object)/

/** What authors of stores and sources hand in is in docs/source.md and docs/testing.md. */
const FOR_AUTHORS = /^\.\/(?:spi|testing)$/

/** Options that take any value: a user function gets it. */
const ANYTHING = /^(?:startWith|value|inject|imports)$/

/** Values of all kinds, and just outside of the bounds of a rule. */
function candidatesFor({ least = 1, most = 1 }: AnyRule): readonly unknown[] {
  const text = 'x'.repeat(Math.min(Math.max(most, 0), 2_000) + 1)
  return [
    null,
    Number.NaN,
    1.5,
    least - 1,
    most + 1,
    -5,
    '',
    'surely wrong\u0000',
    text,
    true,
    {},
    { a: 1 },
    ['a'],
    () => {},
  ]
}

function refuses(rule: AnyRule, value: unknown): boolean {
  const problems: string[] = []
  rule.read(value, { name: 'x', problems })
  return problems.length > 0
}

/** The table by which a function reads its options; `undefined`: it looks at them by itself. */
async function tableOf(
  call: PublicCall,
  made: (...given: readonly unknown[]) => unknown,
): Promise<AnyTable | undefined> {
  tablesRead.length = 0
  // With a name of its own: a union has a table for each of its members.
  await answerTo(call, made, { surelyUnknown: 1, [call.known[0] ?? '']: null })
  return tablesRead.findLast((table) => call.known.some((name) => Object.hasOwn(table, name))) as AnyTable | undefined
}

/** The public functions for users, each with its table. */
async function tablesOf(calls: readonly PublicCall[]): Promise<readonly (readonly [PublicCall, AnyTable])[]> {
  const read: (readonly [PublicCall, AnyTable])[] = []
  for (const call of calls) {
    if (FOR_AUTHORS.test(call.entry)) continue
    for (const made of functionsOf(call).slice(0, 1)) {
      const table = await tableOf(call, made)
      if (table !== undefined) read.push([call, table])
    }
  }
  return read
}

async function problemsOf(path: (call: PublicCall) => readonly (readonly string[])[]): Promise<readonly string[]> {
  const problems: string[] = []
  for (const call of found.calls) {
    for (const place of path(call)) {
      for (const made of functionsOf(call)) {
        const answer = await answerTo(call, made, within(place, { surelyUnknown: 1 }))
        const dotted = [...place, 'surelyUnknown'].join('.').replaceAll(/\.(\d)/g, '[$1]')
        if (answer.includes(`${dotted}: unknown option`)) continue
        problems.push(`${call.entry} ${call.name} ${dotted}: ${answer}`)
      }
    }
  }
  return problems
}

describe('the options of every public function', () => {
  it('are found by their types: the walk meets the functions that are known to have some', () => {
    const names = found.calls.map(({ name }) => name)
    expect(names).toEqual(expect.arrayContaining(['redrive', 'Starting.stop', 'Admin.list', 'new MemoryBroker']))
    expect(names.length).toBeGreaterThan(100)
  })

  it('have no exemption from this test that meets nothing', () => {
    expect(found.unused).toEqual([])
  })

  it('are refused if they are unknown, with the name of the function', async () => {
    expect(await problemsOf(() => [[]])).toEqual([])
  }, 120_000)

  it('are refused if they are unknown in an object inside of the options', async () => {
    expect(
      await problemsOf(({ name, nested }) =>
        nested.filter(([first, ...inner]) => !DEFINED_LATER.test(name) || (first === 'defaults' && inner.length === 0)),
      ),
    ).toEqual([])
  }, 120_000)

  it('are refused if they are not an object', async () => {
    const problems: string[] = []
    for (const call of found.calls) {
      for (const made of functionsOf(call)) {
        for (const given of [null, 'text', 1]) {
          const answer = await answerTo(call, made, given)
          if (!/^(?:ConfigError|TypeError): /.test(answer) || NOT_A_SENTENCE.test(answer))
            problems.push(`${call.entry} ${call.name} ${JSON.stringify(given)}: ${answer}`)
        }
      }
    }
    expect(problems).toEqual([])
  }, 120_000)

  it('are refused with a value that the rule of the option refuses, each of them: 0 is not unset [T56]', async () => {
    const problems: string[] = []
    let asked = 0
    for (const call of found.calls) {
      for (const made of functionsOf(call)) {
        const table = await tableOf(call, made)
        if (table === undefined) {
          problems.push(`${call.entry} ${call.name} has no table of its options`)
          continue
        }
        for (const [name, rule] of Object.entries(table)) {
          const wrong = candidatesFor(rule).filter((value) => refuses(rule, value))
          if (wrong.length === 0 && !ANYTHING.test(name)) problems.push(`${call.entry} ${call.name} ${name}: takes all`)
          for (const value of wrong) {
            asked++
            const answer = await answerTo(call, made, { [name]: value })
            if (!new RegExp(`\\b${name}\\b.*: (?:expected|unknown option)`).test(answer)) {
              problems.push(`${call.entry} ${call.name} ${name} ${String(value).slice(0, 20)}: ${answer.slice(0, 200)}`)
            }
          }
        }
      }
    }
    expect(problems).toEqual([])
    expect(asked).toBeGreaterThan(1_000)
  }, 120_000)

  it('are listed in docs/options.md, as `npm run options` writes it', async () => {
    const page = optionsPage(await tablesOf(found.calls))
    if (process.env['WRITE_OPTIONS'] !== undefined) writeFileSync('docs/options.md', page)
    expect(readFileSync('docs/options.md', 'utf8')).toBe(page)
  })

  it.each([
    ['another one', { default: 5 }, '6'],
    ['another unit', { default: 86_400_000 }, '7 days'],
    ['another name', { default: 'wait' }, '`refuse`'],
    ['none', { default: 5 }, undefined],
    ['one of what must be given', { isNeeded: true as const }, '5'],
  ])('are compared with their docstring: %s is a problem', (_, rule, usual) => {
    const given = { expected: '', read: (value: unknown) => value, ...rule }
    expect(problemOfDefault(given, { text: '', ...(usual === undefined ? {} : { usual }) })).toContain('the ')
  })

  it('have the default that their docstring says', async () => {
    const problems: string[] = []
    for (const [call, table] of await tablesOf(found.calls)) {
      if (DEFINED_LATER.test(call.name)) continue
      for (const { place, rule, told } of optionsIn(table, call.told)) {
        const problem = problemOfDefault(rule, told)
        if (problem !== undefined) problems.push(`${call.entry} ${call.name} ${place}: ${problem}`)
      }
    }
    expect(problems).toEqual([])
  })

  it.each([
    ['once', 'timeoutMs', 'handlerTimeoutMs'],
    ['idempotency', 'timeoutMs', 'handlerTimeoutMs'],
    ['redisLease', 'timeoutMs', 'queryTimeoutMs'],
    ['withDoneCache', 'max', 'maxKeys'],
    ['PositionAdmin.release', 'from', 'goOnFrom'],
    ['Migrations.up', 'isDryRun', 'dryRun'],
    ['runInline', 'retry', 'retryWaits'],
    ['defineConsumer', 'schema', 'payloadSchema'],
    ['HandleOnce', 'schema', 'payloadSchema'],
    ['HandleOnce', 'from', 'startWith'],
    ['runKafka', 'start', 'startAt'],
    ['runKafka', 'consumer', 'consumerConfig'],
    ['pgliteInbox', 'db', 'pglite'],
    ['planReplay', 'max', 'lookAtMost'],
    ['redrive', 'max', 'lookAtMost'],
  ])('of %s: %s is now called %s, and the old name is refused with the new one', async (name, old, now) => {
    const calls = found.calls.filter((call) => call.name === name && call.known.includes(now))
    expect(calls.length).toBeGreaterThan(0)
    for (const call of calls) {
      for (const made of functionsOf(call)) {
        expect(await answerTo(call, made, { [old]: 1 })).toContain(`: ${old}: it is now called ${now}`)
      }
    }
  })

  it('of stop(), if wrong, stop nothing: a later call without them stops', async () => {
    const stops = new Set(found.calls.map(({ name }) => name).filter((name) => name.endsWith('.stop')))
    expect(stops.size).toBeGreaterThan(5)
    const problems: string[] = []
    for (const name of stops) {
      for (const handle of HANDLES[name.slice(0, -'.stop'.length)] ?? []) {
        const { stop, health } = handle as { stop: (options?: object) => Promise<void>; health?: () => Health }
        await expect(stop.call(handle, { surelyUnknown: 1 })).rejects.toThrow('stop: surelyUnknown: unknown option')
        const state = health?.call(handle).state
        if (state === 'stopped' || state === 'draining') problems.push(`${name}: ${state}`)
        await stop.call(handle).catch((error: unknown) => problems.push(`${name}: ${String(error)}`))
      }
    }
    expect(problems).toEqual([])
  })
})
