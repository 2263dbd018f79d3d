import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { SERVER_WITHIN_MS } from '../kit/servers/server.ts'
import { RETURNS, Reader, type Return } from './reader.ts'
import { Rabbit } from './rabbit.ts'

// What the adapter relies on, or guards against, by the version this run is on.

interface Facts {
  /** Returns that count towards the delivery limit of a quorum queue, and show in `x-delivery-count`. */
  readonly counted: readonly Return[]
  /** Every return shows in `x-acquired-count`. */
  readonly countsAcquired: boolean
  /** Deliveries that a quorum queue without `x-delivery-limit` allows a message. */
  readonly mostByDefault: number
  /** Deliveries that `x-delivery-limit: -1` allows. */
  readonly mostByMinusOne: number
  /** Counts travel through dead-lettering: the dead-letter queue's own limit is used up on arrival. */
  readonly deadLettersKeepCounts: boolean
}

const ALL: readonly Return[] = ['nack', 'reject', 'recover', 'channel close', 'connection close', 'connection drop']
const [FROM_3_10, FROM_4_0, FROM_4_3]: readonly [Facts, Facts, Facts] = [
  { counted: ALL, countsAcquired: false, mostByDefault: Infinity, mostByMinusOne: 1, deadLettersKeepCounts: false },
  { counted: ALL, countsAcquired: false, mostByDefault: 21, mostByMinusOne: Infinity, deadLettersKeepCounts: false },
  {
    counted: ['reject', 'channel close', 'connection close', 'connection drop'],
    countsAcquired: true,
    mostByDefault: 21,
    mostByMinusOne: Infinity,
    deadLettersKeepCounts: true,
  },
]
/** More than any limit here allows. */
const MANY = 25

let rabbit: Rabbit
let facts: Facts
const readers: Reader[] = []

beforeAll(async () => {
  rabbit = await Rabbit.open()
  const [major = 0, minor = 0] = rabbit.version.split('.').map(Number)
  facts = major < 4 ? FROM_3_10 : major === 4 && minor < 3 ? FROM_4_0 : FROM_4_3
}, SERVER_WITHIN_MS)
afterEach(async () => {
  await Promise.all(readers.splice(0).map((reader) => reader.close()))
})
afterAll(() => rabbit[Symbol.asyncDispose]())

/** Takes and returns one message so often; what each delivery showed. */
async function cycle(queue: string, how: Return, times: number): Promise<readonly Shown[]> {
  const shown: Shown[] = []
  let reader: Reader | undefined
  for (let time = 0; time < times; time++) {
    if (reader === undefined) readers.push((reader = await Reader.open(rabbit.url, queue)))
    const { fields, properties } = await reader.next()
    const { 'x-delivery-count': deliveries, 'x-acquired-count': acquired } = properties.headers ?? {}
    shown.push({ redelivered: fields.redelivered, deliveries, acquired })
    await RETURNS[how](reader)
    if (!reader.isOpen) {
      await rabbit.untilUnread(queue)
      reader = undefined
    }
  }
  await reader?.close()
  await rabbit.untilUnread(queue)
  return shown
}

interface Shown {
  readonly redelivered: boolean
  readonly deliveries: unknown
  readonly acquired: unknown
}

async function declared(args: Record<string, unknown>): Promise<string> {
  const queue = rabbit.name()
  await rabbit.declare(queue, args)
  await rabbit.send(queue, ['m'])
  return queue
}

async function left(queue: string): Promise<readonly string[]> {
  return (await rabbit.takeLeft(queue)).map(({ body }) => body)
}

describe('a message that comes back', () => {
  it.each(ALL)('shows in its counts on a quorum queue, by %s, what this version counts', async (how) => {
    const queue = await declared({ 'x-queue-type': 'quorum' })
    const isCounted = facts.counted.includes(how)
    const expected = [0, 1, 2].map((returns) => ({
      redelivered: returns > 0,
      deliveries: returns > 0 && isCounted ? returns : undefined,
      acquired: returns > 0 && facts.countsAcquired ? returns : undefined,
    }))
    expect(await cycle(queue, how, 3)).toEqual(expected)
  })

  it.each(ALL)('shows the flag alone on a classic queue, by %s', async (how) => {
    const queue = await declared({})
    const shown = await cycle(queue, how, 3)
    expect(shown).toEqual(shown.map((_, n) => ({ redelivered: n > 0, deliveries: undefined, acquired: undefined })))
    expect(await left(queue)).toEqual(['m'])
  })

  it('shows on its first delivery whatever count its sender wrote: a count is believed with the flag only', async () => {
    const queue = rabbit.name()
    await rabbit.declare(queue)
    await rabbit.send(queue, ['m'], { headersOf: () => ({ 'x-delivery-count': 7 }) })
    const [first, second] = await cycle(queue, 'reject', 2)
    expect(first).toEqual({ redelivered: false, deliveries: 7, acquired: undefined })
    expect(second).toMatchObject({ redelivered: true, deliveries: 1 })
  })
})

describe('a delivery limit', () => {
  it.each(ALL)(
    'of 2 allows three deliveries, if %s is counted, and without a DLX then drops the message',
    async (how) => {
      const queue = await declared({ 'x-queue-type': 'quorum', 'x-delivery-limit': 2 })
      const isCounted = facts.counted.includes(how)
      expect(await cycle(queue, how, isCounted ? 3 : MANY)).toHaveLength(isCounted ? 3 : MANY)
      expect(await left(queue)).toEqual(isCounted ? [] : ['m'])
    },
  )

  it('moves the message to the DLX, with its reason', async () => {
    const deadLetters = rabbit.name()
    await rabbit.declare(deadLetters)
    const queue = await declared({ 'x-queue-type': 'quorum', 'x-delivery-limit': 2, ...deadLetterTo(deadLetters) })
    await cycle(queue, 'reject', 3)
    const { body, properties } = await rabbit.take(deadLetters)
    expect(body).toBe('m')
    expect(properties.headers?.['x-first-death-reason']).toBe('delivery_limit')
    expect(await left(queue)).toEqual([])
  })

  it.each([
    ['by default', {}, 'mostByDefault'],
    ['disabled by -1, which before 4.0 is a trap', { 'x-delivery-limit': -1 }, 'mostByMinusOne'],
  ] as const)('%s allows as many deliveries as this version knows', async (_how, args, most) => {
    const queue = await declared({ 'x-queue-type': 'quorum', ...args })
    await cycle(queue, 'reject', Math.min(facts[most], MANY))
    expect(await left(queue)).toEqual(facts[most] < MANY ? [] : ['m'])
  })
})

describe('a quorum dead-letter queue with readers that crash', () => {
  it('loses its dead letters at the first crash where counts travel with them', async () => {
    const deadLetters = await deadLetterIn({})
    const crashes = facts.deadLettersKeepCounts ? 1 : 3
    const [first] = await cycle(deadLetters, 'connection drop', crashes)
    // On 4.0 a dead letter comes with or without a count of its own making.
    expect(Number(first?.deliveries ?? 0) > 20).toBe(facts.deadLettersKeepCounts)
    expect(await left(deadLetters)).toEqual(facts.deadLettersKeepCounts ? [] : ['m'])
  })

  it('keeps them with x-delivery-limit -1, where that is no trap', async () => {
    const deadLetters = await deadLetterIn({ 'x-delivery-limit': -1 })
    await cycle(deadLetters, 'connection drop', Math.min(facts.mostByMinusOne, 3))
    expect(await left(deadLetters)).toEqual(facts.mostByMinusOne > 3 ? ['m'] : [])
  })
})

/** A dead letter that has used up its limit of 20 where it came from. */
async function deadLetterIn(args: Record<string, unknown>): Promise<string> {
  const deadLetters = rabbit.name()
  await rabbit.declare(deadLetters, { 'x-queue-type': 'quorum', ...args })
  const queue = await declared({ 'x-queue-type': 'quorum', 'x-delivery-limit': 20, ...deadLetterTo(deadLetters) })
  await cycle(queue, 'reject', 21)
  return deadLetters
}

function deadLetterTo(queue: string): Record<string, unknown> {
  return { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': queue }
}
