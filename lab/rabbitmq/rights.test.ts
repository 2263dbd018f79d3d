import { afterEach, describe, expect, it } from '@jest/globals'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import { RecordingIntake } from '../../test/kit/recording-intake.ts'
import { backends } from '../../test/kit/backends.ts'
import { startPrivateRabbit } from '../../test/kit/servers/private-rabbit.ts'
import { Consumers } from '../../test/rabbitmq/consumers.ts'
import { Rabbit } from '../../test/rabbitmq/rabbit.ts'
import { hasCode } from '../../src/index.ts'

const describeRabbit = backends.has('rabbitmq') ? describe : describe.skip

describeRabbit('a user of RabbitMQ who may only read', () => {
  const consumers = new Consumers()
  let server: Awaited<ReturnType<typeof startPrivateRabbit>>
  let admin: Rabbit
  let readers: string

  beforeAllOpen(async (own) => {
    server = own(await startPrivateRabbit())
    await server.control('add_user', 'reader', 'pw')
    await server.control('set_permissions', '-p', '/', 'reader', '', '', '.*')
    admin = own(await Rabbit.open(server.url))
    readers = server.url.replace('guest:guest', 'reader:pw')
  }, 120_000)

  afterEach(() => consumers.end())

  describe.each(['check', 'off'] as const)('with setup: %s', (setup) => {
    const others = { setup, deadLetter: { exchange: 'amq.topic' } }

    it('is kept from a stream', async () => {
      const queue = admin.name()
      await admin.declare(queue, { 'x-queue-type': 'stream' })
      const { source } = consumers.broker(readers, { queue, ...others })
      const error = await source.open(new RecordingIntake()).catch((cause: unknown) => cause)
      expect(hasCode(error, 'CONFIG_INVALID')).toBe(true)
      expect(String(error)).toContain(`queue ${queue}: x-queue-type stream. Streams are not supported`)
      expect(await admin.consumers(queue)).toBe(0)
    })

    it.each([
      ['quorum', { 'x-queue-type': 'quorum' }],
      ['classic', {}],
      ['single active consumer', { 'x-queue-type': 'quorum', 'x-single-active-consumer': true }],
    ])('consumes another queue (%s), whose messages the question left alone', async (_, args) => {
      const queue = admin.name()
      await admin.declare(queue, args)
      await admin.send(queue, ['a'])
      const intake = RecordingIntake.settling()
      const { source } = consumers.broker(readers, { queue, ...others })
      await source.open(intake)
      await intake.until(() => intake.deliveries.length === 1)
      expect(intake.events).toContainEqual(expect.objectContaining({ event: 'queue-unknown' }))
      expect(intake.deliveries[0]?.message.headers).not.toHaveProperty('x-delivery-count')
      await source.close()
    })
  })
})
