import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { SERVER_WITHIN_MS, server } from '../../test/kit/servers/server.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { Strangers, WITHIN_MS } from './installed.ts'

/** For all projects: they find it above. */
const TOOLS = ['typescript@5.9.3']
const BESIDE = ['amqplib@0.10.9', 'rxjs@7.8.2']
const [OLD_METADATA, METADATA] = ['reflect-metadata@0.1.14', 'reflect-metadata@0.2.2']

/**
 * An application with one method on a queue. It publishes an SMS twice, one that the method refuses, and another one,
 * and tells which SMS were sent and which are dead letters.
 */
const application = (imports: string, pattern: string, payload: string, start: string): string => `
import 'reflect-metadata'
import { Controller, Injectable, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { connect } from 'amqplib'
import { messageId, TerminalError } from 'consume-once'
import { confirmedPublisher, eachDelivery } from 'consume-once/amqplib'
import { memoryStore } from 'consume-once/memory'
import { ConsumeOnceConsumers, ConsumeOnceModule, OnceContext, OncePerMessage } from 'consume-once/nestjs'
${imports}

const [url, queue] = process.argv.slice(2) as [string, string]
const deadQueue = queue + '.dead-letter'
const sent: string[] = []

@Controller()
@Injectable()
class Sms {
  @${pattern}
  @OncePerMessage({ name: 'sms', id: messageId.property() })
  async send(${payload} { to }: any, @OnceContext() { idempotencyKey }: any) {
    if (to === 'nobody') throw new TerminalError('no such number')
    sent.push(to + ' ' + idempotencyKey.length)
  }
}
const consumeOnce = ConsumeOnceModule.forRoot({
  defaults: { store: memoryStore() },
  take: (consumer: any) => eachDelivery(consumer, { queue, deadLetter: 'reject' }),
})
const quiet = { logger: ['error' as const], abortOnError: false }

async function main() {
  const connection = await connect(url)
  const channel = await connection.createChannel()
  const quorum = { 'x-queue-type': 'quorum' }
  await channel.assertQueue(deadQueue, { arguments: quorum })
  const toDead = { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': deadQueue }
  const queueOptions = { durable: true, arguments: { ...quorum, ...toDead } }
  await channel.assertQueue(queue, queueOptions)
  ${start}
  const publisher = confirmedPublisher(url)
  for (const [messageId, to] of [['1', '+1'], ['1', '+1'], ['2', 'nobody'], ['3', '+3']]) {
    await publisher.publish({ routingKey: queue, messageId, body: JSON.stringify({ pattern: 'sms', data: { to }, to }) })
  }
  const counts = async () => [(await channel.checkQueue(queue)).messageCount, (await channel.checkQueue(deadQueue)).messageCount]
  while (sent.length < 2 || (await counts()).join() !== '0,1') await new Promise((go) => setTimeout(go, 20))
  await app.get(ConsumeOnceConsumers).stop()
  await app.close()
  while ((await channel.checkQueue(queue)).consumerCount > 0) await new Promise((go) => setTimeout(go, 20))
  console.log('told: ' + [...sent.toSorted(), ...(await counts())].join(', '))
  await publisher.close()
  for (const name of [queue, deadQueue]) await channel.deleteQueue(name)
  await connection.close()
}
setTimeout(() => { throw new Error('not handled within a minute: ' + sent) }, 60_000).unref()
void main()
`
const ON_NEST = application(
  "import { EventPattern, Payload, Transport } from '@nestjs/microservices'",
  "EventPattern('sms')",
  '@Payload()',
  `
  @Module({ imports: [consumeOnce], controllers: [Sms] })
  class Application {}
  const options = { urls: [url], queue, noAck: false, prefetchCount: 10, queueOptions }
  const app: any = await NestFactory.createMicroservice(Application, { ...quiet, transport: Transport.RMQ, options })
  await app.listen()`,
)
const onGolevelup = (forRoot: string): string =>
  application(
    "import { RabbitMQModule, RabbitPayload, RabbitSubscribe } from '@golevelup/nestjs-rabbitmq'",
    'RabbitSubscribe({ queue, createQueueIfNotExists: false })',
    '@RabbitPayload()',
    `
  const rabbit = ${forRoot}
  @Module({ imports: [consumeOnce, rabbit], providers: [Sms] })
  class Application {}
  const app: any = await NestFactory.createApplicationContext(Application, quiet)`,
  )
const COMPILER_OPTIONS = {
  target: 'es2022',
  module: 'nodenext',
  experimentalDecorators: true,
  outDir: 'out',
  rootDir: '.',
  types: [],
  noCheck: true,
}

const nest = (version: string, ...names: readonly string[]): string[] =>
  names.map((name) => `@nestjs/${name}@${version}`)
const strangers = new Strangers()
jest.setTimeout(WITHIN_MS)
beforeAll(async () => {
  await strangers.pack()
  await strangers.install('.', TOOLS)
}, SERVER_WITHIN_MS)
afterAll(() => strangers[Symbol.dispose]())

/** `forRoot` of old versions takes the module first. */
const URI = '{ uri: url, enableDirectReplyTo: false }'

describe.each([
  ...[
    ['10.0.0', OLD_METADATA],
    ['10', METADATA],
    ['11', METADATA],
    ['12', METADATA],
  ].map(([version = '', metadata = '']) => ({
    transport: `the RabbitMQ transport of Nest ${version}`,
    program: ON_NEST,
    packages: [...nest(version, 'common', 'core', 'microservices'), 'amqp-connection-manager@5.0.0', metadata],
  })),
  {
    transport: 'golevelup 4.1.0, with Nest 10',
    program: onGolevelup(`RabbitMQModule.forRoot(RabbitMQModule, ${URI})`),
    packages: ['@golevelup/nestjs-rabbitmq@4.1.0', ...nest('10', 'common', 'core'), OLD_METADATA],
  },
  {
    transport: 'the newest golevelup, with Nest 11',
    program: onGolevelup(`RabbitMQModule.forRoot(${URI})`),
    packages: ['@golevelup/nestjs-rabbitmq@latest', ...nest('11', 'common', 'core'), METADATA],
  },
])('a method with @OncePerMessage on $transport', ({ transport, program, packages }) => {
  const project = transport.replaceAll(/[^\w.]+/g, '-')
  beforeAll(() => strangers.install(project, [...packages, ...BESIDE]), WITHIN_MS)

  it('runs once for a message that comes twice, and a message that it refuses is dead-lettered', async () => {
    strangers.write(`${project}/tsconfig.json`, JSON.stringify({ compilerOptions: COMPILER_OPTIONS }))
    strangers.write(`${project}/application.ts`, program)
    await strangers.run(project, '../node_modules/.bin/tsc', ['-p', '.'])
    const { url } = await server('rabbitmq')
    const told = strangers.run(project, 'node', ['out/application.js', url, uniqueName('nest')])
    expect(await told).toBe('told: +1 43, +3 43, 0, 1\n')
  })
})
