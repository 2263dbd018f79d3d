import { describe, expect, it } from '@jest/globals'
import { connect } from 'amqplib'
import { runRabbit } from '../../adapters/amqplib/index.ts'
import { HOLD_AFTER } from '../../src/core/breaker.ts'
import { defineConsumer, messageId, TerminalError, type Running, type Store } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { eventually } from '../../test/kit/eventually.ts'
import { openedOnce } from '../../test/kit/opened.ts'
import { Rabbit } from '../../test/rabbitmq/rabbit.ts'
import { stoppedAfterEach } from '../../test/kit/after-each.ts'

let rabbit: Rabbit
const running = stoppedAfterEach<Running>()

openedOnce(Rabbit, (made) => (rabbit = made))

interface Version {
  readonly header: string
  readonly isPoison?: (id: string) => boolean
}

interface World {
  readonly store: Store
  readonly handled: string[]
  readonly told: string[]
}

async function deploy(
  queue: string,
  { header, isPoison = () => false }: Version,
  { store, handled, told }: World,
): Promise<Running> {
  const consumer = defineConsumer({
    name: 'sms',
    id: messageId.header(header),
    decode: (value) => value,
    store,
    observe: ({ type }) => void told.push(type),
    handle: ({ message }) => {
      const own = String(message.headers['id'])
      if (isPoison(own)) throw new TerminalError('poison')
      handled.push(own)
    },
  })
  const one = await runRabbit(() => connect(rabbit.url), consumer, { queue })
  running.push(one)
  return one
}

const headersOf = (id: string): { readonly id: string } => ({ id })

const isPoison = (id: string): boolean => Number(id) % 10 < 3

describe('a RabbitMQ consumer in which nothing but failures comes through', () => {
  it.each([
    ['with a misspelt ID header', { header: 'Id' }],
    ['whose handler always fails after a deploy', { header: 'id', isPoison: () => true }],
  ])(
    '%s dead-letters a few of 5,000 messages, is not ready, and the next deploy handles the rest',
    async (_, broken) => {
      const queue = rabbit.name()
      const dead = `${queue}.dead-letter`
      const world = { store: memoryStore(), handled: [] as string[], told: [] as string[] }
      const ids = Array.from({ length: 5_000 }, (__, at) => `${at}`)
      const bad = await deploy(queue, broken, world)
      await rabbit.send(queue, ids, { headersOf })
      await eventually(async () => bad.state === 'holding')
      expect(bad.health()).toMatchObject({ live: true, ready: false })
      expect(bad.health().checks['hold']).toMatch(/50 messages or more in a row ended without their effect/)
      await eventually(async () => (await rabbit.ready(dead)) > HOLD_AFTER)
      expect(await rabbit.consumers(queue)).toBe(1)
      await bad.stop()
      const lost = await rabbit.ready(dead)
      expect(lost).toBeLessThanOrEqual(HOLD_AFTER + 8)
      expect(world.handled).toEqual([])
      expect(await rabbit.ready(queue)).toBe(5_000 - lost)

      await deploy(queue, { header: 'id' }, world)
      await eventually(async () => world.handled.length >= 5_000 - lost)
      const over = (await rabbit.takeLeft(dead)).map(({ body }) => body)
      expect(over).toHaveLength(lost)
      expect(new Set([...world.handled, ...over])).toEqual(new Set(ids))
      expect(world.handled).toHaveLength(5_000 - lost)
    },
    120_000,
  )

  it('never holds while three of ten messages are poison', async () => {
    const queue = rabbit.name()
    const world = { store: memoryStore(), handled: [] as string[], told: [] as string[] }
    const ids = Array.from({ length: 2_000 }, (_, at) => `${at}`)
    await deploy(queue, { header: 'id', isPoison }, world)
    await rabbit.send(queue, ids, { headersOf })
    await eventually(async () => world.handled.length >= 1_400)
    await eventually(async () => (await rabbit.ready(`${queue}.dead-letter`)) === 600)
    expect([world.told.includes('holding'), world.handled.length]).toEqual([false, 1_400])
  }, 120_000)
})
