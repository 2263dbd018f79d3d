import { beforeAll, describe, expect, it } from '@jest/globals'
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import type { Found } from './kit/public-calls.ts'

const run = promisify(execFile)

/** Options of other packages, and names that are no options, with the reason. An entry that meets nothing fails its test. */
const OTHERS: Readonly<Record<string, string>> = {
  type: 'of an event',
  held: 'of an answer of a ledger',
  origins: 'of a Subscription',
  sms: 'a consumer of the reader',
  bytes: 'of a header, as Lambda gives it',
  component: 'of a line of a log',
  types: 'of a query of pg',
  connection: 'of RabbitConnect, which has no name of its own',
  fromBeginning: 'of consumer.subscribe() of KafkaJS',
  noAck: 'of channel.consume() of amqplib',
  eachMessage: 'of consumer.run() of KafkaJS',
  eachBatch: 'of consumer.run() of KafkaJS',
  eachBatchAutoResolve: 'of consumer.run() of KafkaJS',
  autoResendUnfulfilledCommands: 'of ioredis',
  exporter: 'of PeriodicExportingMetricReader of OpenTelemetry',
  metricProducers: 'of PeriodicExportingMetricReader of OpenTelemetry',
}

let found: Found = { calls: [], options: {}, unused: [] }

beforeAll(async () => {
  const { stdout } = await run(process.execPath, ['--import', 'tsx', 'test/package/kit/public-calls.ts'], {
    maxBuffer: 2 ** 26,
  })
  found = JSON.parse(stdout) as Found
}, 240_000)

interface Docstring {
  readonly place: string
  readonly text: string
}

/** Each docstring without the stars at the start of its lines. */
function docstringsIn(file: string): readonly Docstring[] {
  const source = readFileSync(file, 'utf8')
  return [...source.matchAll(/\/\*\*([\s\S]*?)\*\//g)].map(({ 1: comment = '', index }) => ({
    place: `${file}:${source.slice(0, index).split('\n').length}`,
    text: comment.replaceAll(/^\s*\* ?/gm, ''),
  }))
}

const docstrings = ['src', 'adapters', 'testing', 'dashboard', 'cli'].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => docstringsIn(`${folder}/${name}`)),
)

const FENCE = /^```(\w*)\n[\s\S]*?^```$/gm

interface Quoted {
  /** `runInline`, if the option is an argument of a call. */
  readonly of?: string
  readonly name: string
  /** `'caller'`; empty for a name alone. */
  readonly value: string
}

/** Option names in a text such as `setup: 'off'`, `{ retry: 'caller' }`, `runInline(sms, { group })`. */
function quotedIn(text: string): readonly Quoted[] {
  const code = text.replaceAll(/\(\{[^}]*\}\) =>/g, '() =>')
  const alone = /^([a-z]\w*): (\S.*)$/s.exec(code)
  if (alone !== null) return [{ name: alone[1] ?? '', value: alone[2] ?? '' }, ...quotedIn(alone[2] ?? '')]
  const quoted: Quoted[] = []
  const open: ({ readonly call?: string; readonly object?: true } | undefined)[] = []
  const tokens = code.matchAll(/(['"])(?:(?!\1).)*\1|=>|(new )?([\w$.]+)(?=\()|[\w$.]+|[^\s\w]/gs)
  let before = ''
  let called = ''
  for (const { 0: token, 2: made = '', 3: call, index } of tokens) {
    if (call !== undefined) called = `${made}${call}`
    if (token === '(') open.push(before === called.replace('new ', '') || before === called ? { call: called } : {})
    else if (token === '[') open.push({})
    // Neither the body of a function, `() => {`, nor a part of a name, `prefix:{shard}`, is an object.
    else if (token === '{')
      open.push(before !== '=>' && /(?:^|[\s([])$/.test(code.slice(0, index)) ? { object: true } : {})
    else if (/[)\]}]/.test(token)) open.pop()
    else if (open.at(-1)?.object === true && /[{,]/.test(before) && /^[a-z]\w*$/i.test(token)) {
      const value = /^\s*:\s*('[^']*'|[^,}]+)/.exec(code.slice(index + token.length))?.[1] ?? ''
      const of = open.at(-2)?.call
      quoted.push({ ...(of === undefined ? {} : { of }), name: token, value: value.trim() })
    }
    before = token.replace(/^new /, '')
  }
  return quoted
}

const used = new Set<string>()

/** What is wrong with an option that a docstring quotes. */
function problemOf({ of, name, value }: Quoted): string | undefined {
  if (Object.hasOwn(OTHERS, name)) {
    used.add(name)
    return undefined
  }
  const calls = found.calls.filter((call) => call.name === of)
  const isKnown =
    calls.length === 0 ? Object.hasOwn(found.options, name) : calls.some(({ known }) => known.includes(name))
  if (!isKnown) return `${of === undefined ? '' : `${of}() has `}no option ${name}`
  const text = /^'([^']*)'$/.exec(value)?.[1]
  const texts = found.options[name] ?? []
  if (text === undefined || texts.includes('*') || texts.includes(text)) return undefined
  return `${name} is never ${value}, it is ${texts.join(' or ') || 'no text'}`
}

/** Options in code, and those that are called so: "the option `hold`". */
function optionsIn(text: string): readonly Quoted[] {
  const prose = text.replaceAll(FENCE, '')
  return [
    ...[...prose.matchAll(/`([^`]+)`/g)].flatMap(({ 1: code = '' }) => quotedIn(code.replaceAll(/\s+/g, ' '))),
    ...[...prose.matchAll(/\boption\s+`(\w+)`/g)].map(({ 1: name = '' }) => ({ name, value: '' })),
  ]
}

describe('what docstrings quote', () => {
  it('is found: options alone, in objects and in calls', () => {
    expect(quotedIn("setup: 'off'")).toEqual([{ name: 'setup', value: "'off'" }])
    expect(quotedIn("runInline(sms, { retry: 'caller', group })")).toEqual([
      { of: 'runInline', name: 'retry', value: "'caller'" },
      { of: 'runInline', name: 'group', value: '' },
    ])
    expect(quotedIn('new MemoryBroker({ a: { b: [1] } })').map(({ of, name }) => [of, name])).toEqual([
      ['new MemoryBroker', 'a'],
      [undefined, 'b'],
    ])
    expect(quotedIn('() => { stop(); done }')).toEqual([])
    expect(docstrings.flatMap(({ text }) => optionsIn(text)).length).toBeGreaterThan(60)
  })

  it('is an option that exists, with a text that it can have', () => {
    const problems = docstrings.flatMap(({ place, text }) =>
      optionsIn(text).flatMap((quoted) => {
        const problem = problemOf(quoted)
        return problem === undefined ? [] : [`${place} ${problem}`]
      }),
    )
    expect(problems).toEqual([])
    expect(Object.keys(OTHERS).filter((name) => !used.has(name))).toEqual([])
  })

  it('is refused if it does not exist', () => {
    expect(problemOf({ of: 'runInline', name: 'retry', value: "'caller'" })).toBe('runInline() has no option retry')
    expect(problemOf({ name: 'settle', value: "'caller'" })).toBe('no option settle')
    expect(problemOf({ name: 'retryWaits', value: "'later'" })).toBe(
      "retryWaits is never 'later', it is caller or here",
    )
    expect(problemOf({ name: 'retry', value: "'caller'" })).toBe("retry is never 'caller', it is no text")
  })

  it('has no block of code, which nothing would compile: examples/ is compiled and run', () => {
    const blocks = docstrings.flatMap(({ place, text }) =>
      [...text.matchAll(FENCE)].filter(({ 1: language }) => language !== '').map(() => place),
    )
    expect([
      ...blocks,
      ...docstrings.filter(({ text }) => text.includes('@example')).map(({ place }) => place),
    ]).toEqual([])
  })
})
