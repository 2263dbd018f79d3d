import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from '@jest/globals'
import {
  serveHealth,
  type HealthServer,
  type HealthServerOptions,
  type Watched,
} from '../../../adapters/health/index.ts'
import { defineConsumer } from '../../../src/consumer/define-consumer.ts'
import { memoryStore } from '../../../src/memory/store.ts'
import { runConsumer } from '../../../src/run/run.ts'
import { gate } from '../../kit/rig.ts'
import { RecordingSource } from '../../kit/recording-source.ts'
import { closedAfterEach } from '../../kit/after-each.ts'

const ended = closedAfterEach()

async function serve(running: Watched | readonly Watched[], more: Partial<HealthServerOptions> = {}): Promise<string> {
  const server: HealthServer = await serveHealth(running, { port: 0, host: '127.0.0.1', ...more })
  ended.push(() => server.close())
  return `http://127.0.0.1:${server.port}`
}

function start(source: RecordingSource, name = 'sms'): ReturnType<typeof runConsumer> {
  const running = runConsumer(defineConsumer({ name, store: memoryStore(), handle: () => {} }), {
    source,
    publisher: source,
  })
  ended.push(() => running.stop({ deadlineMs: 0 }))
  return running
}

async function ask(url: string, init?: RequestInit): Promise<readonly [number, unknown]> {
  const response = await fetch(url, init)
  const text = await response.text()
  return [response.status, text.startsWith('{') ? JSON.parse(text) : text]
}

describe('the health server', () => {
  it('answers before the broker is joined: live, and ready only then', async () => {
    const source = new RecordingSource([])
    const joining = gate()
    const open = source.open.bind(source)
    source.open = async (intake) => {
      await joining.opened
      return open(intake)
    }
    const running = start(source)
    const url = await serve(running)
    expect(await ask(`${url}/healthz`)).toMatchObject([200, { live: true, consumers: [{ state: 'starting' }] }])
    expect(await ask(`${url}/readyz`)).toMatchObject([503, { ready: false, consumers: [{ consumer: 'sms' }] }])
    joining.open()
    await running.ready()
    expect(await ask(`${url}/readyz`)).toMatchObject([200, { ready: true, consumers: [{ checks: { store: 'ok' } }] }])
  })

  it('is neither live nor ready after a start that failed, since a restart may help', async () => {
    const source = new RecordingSource([])
    source.openFails = new Error('nobody there')
    const running = start(source)
    const url = await serve(running)
    await running.ready().catch(() => {})
    expect(await ask(`${url}/healthz`)).toMatchObject([503, { live: false, consumers: [{ state: 'failed' }] }])
    expect(await ask(`${url}/readyz`)).toMatchObject([503, { ready: false }])
  })

  it('speaks for several consumers: one that is not ready is enough', async () => {
    const other = new RecordingSource([])
    const running = [start(new RecordingSource([])), start(other, 'mail')]
    await Promise.all(running.map((one) => one.ready()))
    const url = await serve(running)
    expect(await ask(`${url}/readyz`)).toMatchObject([200, { consumers: [{ consumer: 'sms' }, { consumer: 'mail' }] }])
    await running[1]?.stop()
    expect(await ask(`${url}/readyz`)).toMatchObject([503, { consumers: [{ ready: true }, { state: 'stopped' }] }])
    expect(await ask(`${url}/healthz`)).toMatchObject([200, {}])
  })

  it('serves metrics and snapshots that it is given', async () => {
    const metrics = { contentType: 'text/plain; version=0.0.4', metrics: async () => 'up 1\n' }
    const url = await serve(start(new RecordingSource([])), { metrics, live: { snapshot: () => ({ at: 1 }) } })
    const scraped = await fetch(`${url}/metrics?name=up`)
    expect([scraped.status, scraped.headers.get('content-type'), await scraped.text()]).toEqual([
      200,
      'text/plain; version=0.0.4',
      'up 1\n',
    ])
    expect(await ask(`${url}/live.json`)).toEqual([200, { at: 1 }])
  })

  it('answers 500 while the metrics cannot be collected', async () => {
    const metrics = { contentType: 'text/plain', metrics: () => Promise.reject(new Error('too early')) }
    const url = await serve(start(new RecordingSource([])), { metrics })
    expect(await ask(`${url}/metrics`)).toEqual([500, 'the metrics could not be collected: too early\n'])
  })

  it.each([
    ['GET', '/metrics', 404],
    ['GET', '/live.json', 404],
    ['GET', '/', 404],
    ['GET', '/../healthz%00', 404],
    ['HEAD', '/healthz', 200],
    ['POST', '/healthz', 405],
    ['DELETE', '/readyz', 405],
  ])('answers %s %s with %d', async (method, path, status) => {
    const url = await serve(start(new RecordingSource([])))
    expect((await ask(url + path, { method }))[0]).toBe(status)
  })

  it('ends with connections open', async () => {
    const server = await serveHealth(start(new RecordingSource([])), { port: 0, host: '127.0.0.1' })
    await fetch(`http://127.0.0.1:${server.port}/healthz`, { headers: { connection: 'keep-alive' } })
    await server.close()
    await server[Symbol.asyncDispose]()
    await expect(fetch(`http://127.0.0.1:${server.port}/healthz`)).rejects.toThrow('fetch failed')
  })

  it('says that its port is taken', async () => {
    const other = createServer()
    await new Promise<void>((resolve) => void other.listen(0, '127.0.0.1', resolve))
    ended.push(() => new Promise((resolve) => void other.close(resolve)))
    const { port } = other.address() as AddressInfo
    await expect(serve(start(new RecordingSource([])), { port })).rejects.toThrow(/port \d+: Error: listen EADDRINUSE/)
  })

  it.each([
    ['no port', {}, 'port: expected a whole number'],
    ['a port beyond the last', { port: 65_536 }, 'port: expected a whole number from 0 to 65535, got 65536'],
    ['a misspelt option', { port: 0, metric: {} }, 'did you mean metrics'],
    ['something else as metrics', { port: 0, metrics: {} }, 'metrics: expected a registry of prom-client'],
    ['something else as live', { port: 0, live: {} }, 'live: expected what liveSignals() returned'],
    ['something else as host', { port: 0, host: 1 }, 'host: expected an address'],
  ])('refuses %s', async (_what, options, told) => {
    const running = start(new RecordingSource([]))
    await expect(serveHealth(running, options as HealthServerOptions)).rejects.toThrow(told)
  })

  it.each([[[]], [undefined], [[{}]]])('refuses %j as what runs', async (running) => {
    await expect(serveHealth(running as unknown as Watched, { port: 0 })).rejects.toThrow('running: expected what')
  })
})
