import { describe, expect, it } from '@jest/globals'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { copyFlag, copyNumber, copyText, copyTime, deadLetterIn } from '../../../src/copies/values.ts'
import { COPY_HEADER, describesCopy } from '../../../src/copies/vocabulary.ts'
import { isReservedHeader } from '../../../src/core/reserved-header.ts'

const ROOT = join(__dirname, '../../..')
const OURS = Object.values(COPY_HEADER)

/** The only files that may write the name of such a header, and why. */
const ALLOWED: Readonly<Record<string, RegExp>> = {
  'src/copies/vocabulary.ts': /./,
  'src/copies/kafka.ts': /^x-|^kafka_dlt-/,
  // Others' names, read and never written.
  'adapters/kafka/copies/dead-letter-facts.ts': /^x-original-topic$|^x-original-$|^x-exception-$/,
  'adapters/amqplib/message/headers.ts': /^x-exception-|^x-original-/,
  'adapters/amqplib/replay/dead-letter-facts.ts': /^x-original-|^x-death$|^x-first-death-/,
  'adapters/amqplib/replay/rescue.ts': /^x-delivery-count$|^x-acquired-count$/,
  'adapters/amqplib/replay/cost.ts': /^x-delivery-count$/,
  // The usual places of an ID.
  'src/identity/message-id.ts': /^x-message-id$|^x-deduplication-header$/,
}

/** Arguments of queues, by which they are declared: headers of no message. */
const OF_QUEUES =
  /^x-(?:queue-type|queue-mode|queue-version|single-active-consumer|message-ttl|expires|max-length|max-length-bytes|overflow|delivery-limit|dead-letter-(?:exchange|routing-key|strategy)|consumer-timeout|max-priority|quorum-initial-group-size|delayed-retry-(?:type|min|max)|stream-offset|max-in-memory-length|priority|cancel-on-ha-failover)$/

/** Headers of HTTP. */
const OF_HTTP =
  /^x-(?:gzip|csrf-token|content-type-options|frame-options|consume-once|consume-once-[a-z-]+|xss-protection)$/

function filesIn(folder: string): readonly string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.includes('node_modules'))
    .map((name) => `${folder}/${name}`)
}

/** Literals of a header's form, without those in comments. */
function headersIn(file: string): readonly string[] {
  const code = readFileSync(join(ROOT, file), 'utf8')
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/\/\/.*$/gm, '')
  return [...code.matchAll(/['"`](x-[a-z-]+|consume-once-[a-z-]+)(?:['"`]|\$\{)/g)].map(([, name = '']) => name)
}

describe('the names of headers', () => {
  it('are written in the vocabulary and nowhere else', () => {
    const elsewhere = ['src', 'adapters', 'cli', 'dashboard', 'testing']
      .flatMap(filesIn)
      .flatMap((file) => headersIn(file).map((name) => ({ file, name })))
      .filter(({ name }) => name.startsWith('x-') || OURS.includes(name as (typeof OURS)[number]))
      .filter(({ file, name }) => !OF_QUEUES.test(name) && !OF_HTTP.test(name) && !ALLOWED[file]?.test(name))
    expect(elsewhere).toEqual([])
  })

  it('have the reserved prefix, each once', () => {
    expect(new Set(OURS).size).toBe(OURS.length)
    expect(OURS.filter((name) => !isReservedHeader(name))).toEqual([])
  })

  it('describe one copy, but for those about the message, which a redrive keeps', () => {
    const { tombstone, replayId, replayCount } = COPY_HEADER
    expect(OURS.filter((name) => !describesCopy(name)).toSorted()).toEqual(
      [tombstone, replayId, replayCount].toSorted(),
    )
    expect(describesCopy('consume-once-of-a-later-version')).toBe(true)
    expect(['x-attempts', 'attempts', 'CONSUME-ONCE-KEY'].filter(describesCopy)).toEqual([])
  })
})

describe('docs/copies.md', () => {
  it('has a row for each header', () => {
    const page = readFileSync(join(ROOT, 'docs/copies.md'), 'utf8')
    const cells = [...page.matchAll(/^\| (`[^|]*)\|/gm)].map(([, cell = '']) => cell).slice(1)
    const told = cells.flatMap((cell) =>
      [...cell.matchAll(/`([a-z-]+)`/g)].map(([, name = '']) => `consume-once-${name}`),
    )
    expect(told.toSorted()).toEqual(OURS.toSorted())
  })
})

describe('the value of a header', () => {
  it('is read alike as text, as bytes and in the types of RabbitMQ', () => {
    for (const value of ['7', Buffer.from('7'), ['7', '8'], [Buffer.from('7')]]) {
      expect(copyText({ [COPY_HEADER.attempts]: value }, COPY_HEADER.attempts)).toBe('7')
      expect(copyNumber({ [COPY_HEADER.attempts]: value }, COPY_HEADER.attempts)).toBe(7)
    }
    expect(copyNumber({ [COPY_HEADER.attempts]: 7 }, COPY_HEADER.attempts)).toBe(7)
    for (const value of [true, 'true', Buffer.from('true')]) {
      expect(copyFlag({ [COPY_HEADER.parked]: value }, COPY_HEADER.parked)).toBe(true)
    }
    expect(copyTime({ [COPY_HEADER.setAsideAt]: '1970-01-01T00:00:01.000Z' }, COPY_HEADER.setAsideAt)).toBe(1_000)
  })

  it('that has another form is none', () => {
    for (const value of [-1, 1.5, 2 ** 53, Number.NaN, '-1', '1e3', '', 'NaN', null, {}, true]) {
      expect(copyNumber({ [COPY_HEADER.attempts]: value }, COPY_HEADER.attempts)).toBeUndefined()
    }
    for (const value of [1, 'yes', false, null]) {
      expect(copyFlag({ [COPY_HEADER.parked]: value }, COPY_HEADER.parked)).toBe(false)
    }
    expect(copyTime({ [COPY_HEADER.setAsideAt]: 'then' }, COPY_HEADER.setAsideAt)).toBeUndefined()
    expect(
      copyText(Object.create({ [COPY_HEADER.key]: 'k' }) as Record<string, unknown>, COPY_HEADER.key),
    ).toBeUndefined()
  })

  it('of a dead letter says why, since when and whose it is, within bounds', () => {
    const headers = {
      [COPY_HEADER.reason]: 'r'.repeat(5_000),
      [COPY_HEADER.parked]: 'true',
      [COPY_HEADER.deadLetteredAt]: '1970-01-01T00:00:02.000Z',
      [COPY_HEADER.originQueue]: 'orders',
    }
    expect(deadLetterIn(headers)).toEqual({
      reason: 'r'.repeat(1_024),
      parked: true,
      since: 2_000,
      consumer: undefined,
      group: 'orders',
    })
    expect(deadLetterIn({ [COPY_HEADER.attempts]: '1' })).toBeUndefined()
  })
})
