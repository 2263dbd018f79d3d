// The dashboard inside a Fastify application, with the logins of the application and live signals of its own consumer.
import assert from 'node:assert/strict'
import { connect } from 'amqplib'
import fastify from 'fastify'
import { messageId } from 'consume-once'
// #region live
import { defineConsumer, liveSignals } from 'consume-once'
import { runRabbit } from 'consume-once/amqplib'
import { serveHealth } from 'consume-once/health'

// #endregion
import { confirmedPublisher, rabbitSubscription } from 'consume-once/amqplib'
// #region board
import { dashboard, dashboardListener } from 'consume-once/dashboard'

// #endregion
import { redisLease } from 'consume-once/redis'
import { redisUnder, removeKeys } from './support/redis.ts'
import { eventually, ownName, rabbitUrl } from './support/servers.ts'

const url = rabbitUrl()
const queue = ownName('sms')
/** 9464 for you; any free one here. */
const port = 0
const redis = redisUnder(queue)
const store = redisLease({ redis })
const id = messageId.property()
let runs = 0
const handle = (): void => void runs++
/** The stand-in for the sessions of your application. */
const userOf = (cookie: string | null) => {
  const users = new Map([
    ['session=kim', { name: 'kim', isOnCall: true }],
    ['session=lee', { name: 'lee', isOnCall: false }],
  ])
  return users.get(cookie ?? '')
}

// #region live
const live = liveSignals()
const sms = defineConsumer({ name: 'sms', id, store, handle, observe: live })
const running = runRabbit(url, sms, { queue })
const health = await serveHealth(running, { port, live })
// #endregion

const subscription = rabbitSubscription(url, { queue })
// #region board
const board = dashboard({
  consumers: [{ consumer: sms, subscription }], // as in consume-once.config
  live, // of consumers in this process; `instances: [url]` for others
  basePath: '/ops',
  auth: async (request) => {
    const user = userOf(request.headers.get('cookie'))
    return user === undefined ? undefined : { by: user.name, readOnly: !user.isOnCall }
  },
  readOnly: false,
})
// #endregion

const app = fastify()
// #region fastify
await app.register(async (scope) => {
  // The dashboard reads bodies itself, and limits them.
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', (_request, _payload, done) => done(null))
  scope.all('/ops/*', (request, reply) => {
    reply.hijack()
    dashboardListener(board)(request.raw, reply.raw)
  })
})
// #endregion
const address = await app.listen({ port: 0, host: '127.0.0.1' })

await running.ready()
const publisher = confirmedPublisher(url)
const message = { routingKey: queue, messageId: 'sms-1', body: '{}' }
for (const one of [message, message]) await publisher.publish(one)
await eventually(async () => runs === 1)

const ask = (path: string, cookie: string) => fetch(`${address}/ops/${path}`, { headers: { cookie } })
assert.equal((await ask('api/session', '')).status, 401)
const readOnly = async (cookie: string) =>
  ((await (await ask('api/session', cookie)).json()) as { readOnly: boolean }).readOnly
assert.deepEqual([await readOnly('session=kim'), await readOnly('session=lee')], [false, true])
const shown = await ask('api/live', 'session=kim')
assert.match(await shown.text(), /"sms"/)
const exported = await fetch(`http://127.0.0.1:${health.port}/live.json`)
assert.match(await exported.text(), /"sms"/)
console.log('Kim may decide, Lee may look, nobody else sees anything')

await app.close()
await board.close()
await health.close()
await running.stop()
await publisher.close()
const connection = await connect(url)
const channel = await connection.createChannel()
for (const name of [queue, `${queue}.dead-letter`]) await channel.deleteQueue(name)
await connection.close()
await removeKeys(queue)
await redis.quit()
