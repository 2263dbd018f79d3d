import { createServer as createHttpServer } from 'node:http'
import { createServer, type Server } from 'node:net'
import { once } from 'node:events'
import { openedOnce } from '../../kit/opened.ts'
import { RecordingIntake } from '../../kit/recording-intake.ts'
import { afterEach, describe, expect, it } from '@jest/globals'
import { connect } from 'amqplib'
import { connect as connectWithOldest } from 'amqplib-0.10'
import { connect as connectWithFirst } from 'amqplib-1'
import {
  confirmedPublisher,
  rabbitSubscription,
  type AmqpConnection,
  type RabbitConnect,
} from '../../../adapters/amqplib/index.ts'
import { rabbitSource } from '../../../adapters/amqplib/source-and-publisher.ts'
import { defineConsumer, doctor, type ConfigError } from '../../../src/index.ts'
import { memoryStore } from '../../../src/memory/index.ts'
import { Rabbit } from '../rabbit.ts'

let rabbit: Rabbit
const servers: Server[] = []

openedOnce(Rabbit, (made) => (rabbit = made))
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

/** The error of a start that must fail. */
async function failure(to: RabbitConnect): Promise<Pick<ConfigError, 'code' | 'message'>> {
  const { source } = rabbitSource(to, { queue: 'q' })
  const error = await source.open(new RecordingIntake()).then(
    () => new Error('it started'),
    (cause: unknown) => cause,
  )
  await source.close()
  return error as ConfigError
}

async function listening(server: Server): Promise<number> {
  servers.push(server.listen(0, '127.0.0.1'))
  await once(server, 'listening')
  return (server.address() as { port: number }).port
}

function addressOf(change: (url: URL) => void): string {
  const url = new URL(rabbit.url)
  change(url)
  return url.href
}

describe('a connection to RabbitMQ that cannot be opened', () => {
  it('names a virtual host that does not exist, and the command that makes it', async () => {
    const to = addressOf((url) => {
      url.pathname = '/no%2Fhost'
    })
    const { code, message } = await failure(to)
    expect(code).toBe('CONFIG_INVALID')
    expect(message).toContain("expected the virtual host 'no/host' to exist, got:")
    expect(message).toContain("Create it (rabbitmqctl add_vhost 'no/host')")
    expect(message).not.toContain('ConnectionOpenOk')
  })

  it('names the user whose login is refused, never the password', async () => {
    const to = addressOf((url) => {
      url.password = 'wr%2Fong'
    })
    const { code, message } = await failure(to)
    expect(code).toBe('CONFIG_INVALID')
    expect(message).toContain("the broker refused the login of user 'guest'")
    expect(message).not.toContain('ong')
  })

  it('says that a plain port does not speak TLS', async () => {
    const to = addressOf((url) => {
      url.protocol = 'amqps'
    })
    const { code, message } = await failure(to)
    expect(code).toBe('CONFIG_INVALID')
    expect(message).toContain('expected TLS on that port, got a server that does not speak it. Use amqp://')
    expect(message).not.toMatch(/SSL routines|ssl3_/)
  })

  it('says that an HTTP server listens on the port', async () => {
    const port = await listening(createHttpServer((_, response) => response.end('management')))
    const { code, message } = await failure(`amqp://me:s3cret@127.0.0.1:${port}`)
    expect(code).toBe('CONFIG_INVALID')
    expect(message).toContain(
      'expected AMQP on that port, got an HTTP server. The management interface listens on 15672',
    )
    expect(message).not.toContain('s3cret')
  })

  it('may be tried again where a server closes it without a word, as a broker that starts does', async () => {
    const port = await listening(createServer((socket) => socket.destroy()))
    const { code, message } = await failure(`amqp://127.0.0.1:${port}?frameMax=4096`)
    expect(code).toBe('BROKER_UNREACHABLE')
    expect(message).toContain('the server closed the connection during the handshake')
    expect(message).toContain('frameMax is 4096: RabbitMQ 4 closes connections below 8192')
  })

  it('may be tried again where the name is not resolved', async () => {
    const { code, message } = await failure('amqp://nowhere.invalid')
    expect(code).toBe('BROKER_UNREACHABLE')
    expect(message).toContain('its host name cannot be resolved')
  })

  it.each([
    ['2', connect],
    ['1', connectWithFirst],
    ['0.10', connectWithOldest],
  ])("is explained as far as amqplib %s tells, where the user's own function dials", async (_, connectWith) => {
    const nowhere = addressOf((url) => {
      url.pathname = '/nowhere'
    })
    const wrong = addressOf((url) => {
      url.password = 'wrong'
    })
    const dial = (url: string) => async () => (await connectWith(url)) as unknown as AmqpConnection
    expect(await failure(dial(nowhere))).toMatchObject({
      code: 'BROKER_UNREACHABLE',
      message: expect.stringContaining('the broker refused the virtual host. Check that it exists'),
    })
    expect(await failure(dial(wrong))).toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('the broker refused the login of the user'),
    })
  })

  it('is explained alike to doctor and to a publisher', async () => {
    const to = addressOf((url) => {
      url.pathname = '/nowhere'
    })
    const consumer = defineConsumer({ name: 'c', store: memoryStore(), handle: () => {} })
    const { findings, unreachable } = await doctor(consumer, rabbitSubscription(to, { queue: 'q' }))
    expect(unreachable).toEqual([])
    const [finding] = findings.filter(({ check }) => check === 'rabbitmq.connection')
    expect(finding).toMatchObject({ verdict: 'broken', found: expect.stringContaining("virtual host 'nowhere'") })
    await using publisher = confirmedPublisher(to)
    await expect(publisher.publish({ routingKey: 'q', messageId: 'x', body: 'x' })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: finding?.found,
    })
  })
})
