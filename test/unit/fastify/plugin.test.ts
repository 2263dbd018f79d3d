import { describe, expect, it } from '@jest/globals'
import fastify, { type FastifyInstance } from 'fastify'
import { defineConsumer, messageId, type Running } from 'consume-once'
import { memoryStore, MemoryBroker, runMemory } from 'consume-once/memory'
import { consumeOncePlugin, type ConsumeOnceFastifyOptions } from 'consume-once/fastify'
import { eventually } from '../../kit/eventually.ts'

const SMS = { headers: { id: 'sms-1' }, value: Buffer.from('{}') }

function newApp(given: Partial<ConsumeOnceFastifyOptions> = {}) {
  const broker = new MemoryBroker()
  const sent: string[] = []
  const sms = defineConsumer({
    name: 'sms',
    store: memoryStore(),
    id: messageId.header('id'),
    handle: ({ message }) => void sent.push(String(message.headers['id'])),
  })
  const start = (): Record<string, Running> => ({ sms: runMemory(broker, sms, { topic: 'sms', group: 'g' }) })
  const app = fastify()
  void app.register(consumeOncePlugin, { start, ...given })
  return { app, broker, sent }
}

async function probe(app: FastifyInstance, path: string): Promise<{ readonly code: number; readonly status: unknown }> {
  const [at] = app.addresses()
  const port = typeof at === 'object' ? at.port : undefined
  const answer = await fetch(`http://127.0.0.1:${port}${path}`)
  const { status } = (await answer.json()) as { readonly status?: unknown }
  return { code: answer.status, status }
}

describe('the plugin for Fastify', () => {
  it('starts consumers with the application, answers probes, and stops them with it', async () => {
    const { app, broker, sent } = newApp({ waitForReady: true })
    await app.listen({ host: '127.0.0.1', port: 0 })
    broker.publish('sms', SMS)
    broker.publish('sms', SMS)
    broker.publish('sms', { ...SMS, headers: { id: 'sms-2' } })
    await eventually(async () => sent.length === 2)
    expect(await probe(app, '/healthz')).toEqual({ code: 200, status: 'up' })
    expect(await probe(app, '/readyz')).toEqual({ code: 200, status: 'up' })
    app.consumers['sms']?.pause()
    expect(await probe(app, '/readyz')).toEqual({ code: 503, status: 'down' })
    expect(await probe(app, '/healthz')).toEqual({ code: 200, status: 'up' })
    await app.close()
    expect([app.consumers['sms']?.state, sent]).toEqual(['stopped', ['sms-1', 'sms-2']])
  })

  it('starts no consumer after the application was closed, as by a signal before its start', async () => {
    const { app } = newApp({ waitForReady: true })
    const ready = app.ready()
    await app.close()
    await ready
    expect(Object.keys(app.consumers)).toEqual([])
  })

  it('answers no probes if it is told so', async () => {
    const { app } = newApp({ routes: false })
    await app.listen({ host: '127.0.0.1', port: 0 })
    expect(await probe(app, '/healthz')).toMatchObject({ code: 404 })
    await app.close()
  })

  it('refuses options that cannot be meant', async () => {
    const { app } = newApp({ start: undefined as never, routes: { live: '' } as never, wait: true } as never)
    await expect(app.ready()).rejects.toThrow(/start: expected a function[\s\S]*routes\.live: expected/)
    await app.close()
  })
})
