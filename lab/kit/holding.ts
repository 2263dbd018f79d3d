import { describe, expect, it } from '@jest/globals'
import { HOLD_AFTER } from '../../src/core/breaker.ts'
import { defineConsumer, messageId, TerminalError, type Consumer, type Running, type Store } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { stoppedAfterEach } from '../../test/kit/after-each.ts'
import { eventually } from '../../test/kit/eventually.ts'

/** A topic or queue of its own, and its dead letters. */
export interface HeldPlace {
  readonly run: (consumer: Consumer) => Promise<Running>
  /** With the ID as value and as header `id`. */
  readonly send: (ids: readonly string[]) => Promise<void>
  /** All that was sent, but so many, is settled. */
  readonly untilSettled: (sent: number, deadLetters: number) => Promise<void>
  /** How many consume from it. */
  readonly members: () => Promise<number>
  readonly countDeadLetters: () => Promise<number>
  readonly deadLetters: (count: number) => Promise<readonly string[]>
}

interface Version {
  /** The header with the ID. */
  readonly header: string
  readonly isPoison?: (id: string) => boolean
}

/** Versions of one consumer, one after the other, on one store. */
class Deployed {
  readonly handled: string[] = []
  readonly told: string[] = []
  readonly #store: Store = memoryStore()
  readonly #place: HeldPlace
  readonly #running: Running[]

  constructor(place: HeldPlace, running: Running[]) {
    this.#place = place
    this.#running = running
  }

  async deploy({ header, isPoison: poisons = () => false }: Version): Promise<Running> {
    const consumer = defineConsumer({
      name: 'sms',
      id: messageId.header(header),
      decode: (value) => value,
      store: this.#store,
      observe: ({ type }) => void this.told.push(type),
      handle: ({ message }) => {
        const own = String(message.headers['id'])
        if (poisons(own)) throw new TerminalError('poison')
        this.handled.push(own)
      },
    })
    const running = await this.#place.run(consumer)
    this.#running.push(running)
    return running
  }
}

const idsOf = (count: number): readonly string[] => Array.from({ length: count }, (_, at) => `${at}`)
const isPoison = (id: string): boolean => Number(id) % 10 < 3

export function describeHolding(broker: string, open: () => Promise<HeldPlace>): void {
  const running = stoppedAfterEach<Running>()

  describe(`a ${broker} consumer in which nothing but failures comes through`, () => {
    it.each<[string, Version]>([
      ['with a misspelt ID header', { header: 'Id' }],
      ['whose handler always fails after a deploy', { header: 'id', isPoison: () => true }],
    ])(
      '%s dead-letters a few of 5,000 messages, is not ready, stays a member, and the next deploy handles the rest',
      async (_, broken) => {
        const place = await open()
        const consumer = new Deployed(place, running)
        const { handled } = consumer
        const ids = idsOf(5_000)
        const bad = await consumer.deploy(broken)
        await place.send(ids)
        await eventually(async () => bad.state === 'holding')
        const health = bad.health()
        expect(health).toMatchObject({ live: true, ready: false })
        expect(health.checks['hold']).toMatch(/50 messages or more in a row ended without their effect/)
        // At least one trial, which is dead-lettered too.
        await eventually(async () => (await place.countDeadLetters()) > HOLD_AFTER)
        expect(await place.members()).toBe(1)
        await bad.stop()
        const lost = await place.countDeadLetters()
        // One for each look and each trial: 1 s, 2 s, 4 s, ...
        expect(lost).toBeLessThanOrEqual(HOLD_AFTER + 8)
        expect(handled).toEqual([])

        await consumer.deploy({ header: 'id' })
        await eventually(async () => handled.length >= 5_000 - lost, 60_000)
        await place.untilSettled(5_000, lost)
        // What was dead-lettered without an ID has no record, and what was given up keeps its own.
        const dead = await place.deadLetters(lost)
        expect(new Set(dead).size).toBe(lost)
        expect(new Set([...handled, ...dead])).toEqual(new Set(ids))
        expect(handled).toHaveLength(5_000 - lost)
      },
      120_000,
    )

    it('never holds while three of ten messages are poison', async () => {
      const place = await open()
      const consumer = new Deployed(place, running)
      const ids = idsOf(2_000)
      await consumer.deploy({ header: 'id', isPoison })
      await place.send(ids)
      await eventually(async () => consumer.handled.length >= 1_400, 60_000)
      await place.untilSettled(2_000, 600)
      const { handled, told } = consumer
      expect([told.includes('holding'), handled.length, await place.countDeadLetters()]).toEqual([false, 1_400, 600])
      expect(new Set(handled)).toEqual(new Set(ids.filter((id) => !isPoison(id))))
    }, 120_000)
  })
}
