// An application of Fastify with a consumer for each place, which listens when all have joined.
import fastify from 'fastify'
import { consumeOncePlugin } from '../../../../adapters/fastify/index.ts'
import { closeClients, start } from './life.ts'

const app = fastify()
app.addHook('onClose', closeClients) // Fastify closes in the opposite order: after the consumers.
await app.register(consumeOncePlugin, {
  start: () => Object.fromEntries(start().map((running, at) => [String(at), running])),
  waitForReady: true,
  deadlineMs: 20_000,
})
const stopping = new AbortController()
process.on('SIGTERM', () => stopping.abort())
await app.listen({ host: '127.0.0.1', port: 0, signal: stopping.signal })
