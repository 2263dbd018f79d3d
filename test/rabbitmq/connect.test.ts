import { openedOnce } from '../kit/opened.ts'
import { RecordingIntake } from '../kit/recording-intake.ts'
import { describe, expect, it } from '@jest/globals'
import { connect, type Options } from 'amqplib'
import { confirmedPublisher, runRabbit } from '../../adapters/amqplib/index.ts'
import { rabbitSource } from '../../adapters/amqplib/source-and-publisher.ts'
import { connectorOf } from '../../adapters/amqplib/connection/connector.ts'
import { ConfigError, defineConsumer } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { Rabbit } from './rabbit.ts'

let rabbit: Rabbit

openedOnce(Rabbit, (made) => (rabbit = made))

async function heartbeatOf(to: string | Options.Connect): Promise<number | undefined> {
  const connection = await connectorOf(to).open('test')
  await connection.close()
  return connection.connection?.heartbeat
}

function optionsOf(url: string): Options.Connect {
  const { hostname, port, username, password } = new URL(url)
  return {
    hostname,
    port: Number(port || 5672),
    username: decodeURIComponent(username || 'guest'),
    password: decodeURIComponent(password || 'guest'),
  }
}

describe('a connection that is dialled', () => {
  it('has a heartbeat of 15 seconds, so that its silent death is noticed', async () => {
    expect(await heartbeatOf(rabbit.url)).toBe(15)
    expect(await heartbeatOf(`${rabbit.url}?frameMax=16384`)).toBe(15)
    expect(await heartbeatOf(optionsOf(rabbit.url))).toBe(15)
  })

  it.each([7, 0])('keeps the heartbeat that it is given, %d', async (heartbeat) => {
    expect(await heartbeatOf(`${rabbit.url}?heartbeat=${heartbeat}`)).toBe(heartbeat)
    expect(await heartbeatOf({ ...optionsOf(rabbit.url), heartbeat })).toBe(heartbeat)
  })
})

/** As JavaScript may pass it. */
function refusal(to: unknown): string {
  try {
    rabbitSource(to as string, { queue: 'sms' })
    return ''
  } catch (error) {
    return error instanceof ConfigError ? error.message : ''
  }
}

describe('what is no way to connect', () => {
  const resolved = "what amqplib's connect() resolves with"

  it('is refused at once, and what to pass is said', async () => {
    const model = await connect(rabbit.url)
    const channel = await model.createChannel()
    const lend = `pass { connection }, with ${resolved}`
    try {
      expect(refusal(model)).toContain(`got a connection itself: ${lend}`)
      expect(refusal(channel)).toContain(`got a channel: ${lend}`)
      expect(refusal({ connection: channel })).toContain(`connect.connection: expected ${resolved}, got a channel`)
    } finally {
      await model.close()
    }
    expect(refusal({ connection: {} })).toContain(`connect.connection: expected ${resolved}, got object`)
    expect(refusal({ connection: undefined })).toContain('got undefined')
    expect(refusal({ connection: Promise.resolve() })).toContain('got a promise: await it')
    expect(refusal(Promise.resolve())).toContain(
      'connect: expected a URL, options, a function or { connection }, got a promise: await it',
    )
  })

  it('is refused where a function resolves with it', async () => {
    const to = (async () => ({})) as unknown as () => never
    const expected = {
      code: 'CONFIG_INVALID',
      message: expect.stringContaining(`resolves with ${resolved}, got object`),
    }
    const { source } = rabbitSource(to, { queue: 'sms' })
    await expect(source.open(new RecordingIntake())).rejects.toMatchObject(expected)
    await source.close()
    await using publisher = confirmedPublisher(to)
    const message = { routingKey: 'sms', messageId: 'x', body: 'x' }
    await expect(publisher.publish(message)).rejects.toMatchObject(expected)
  })

  it('is not told from missing options, which are asked for by name', async () => {
    const consumer = defineConsumer({ name: 'sms', store: memoryStore(), handle: () => {} })
    const run = runRabbit as (...args: readonly unknown[]) => Promise<unknown>
    for (const options of [[], ['sms']]) {
      await expect(run(rabbit.url, consumer, ...options)).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining('runRabbit: queue: expected a name of 1 to 255 bytes'),
      })
    }
  })
})
