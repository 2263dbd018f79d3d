import { describe, expect, it } from '@jest/globals'
import { adminOf, defineConsumer } from '../../src/index.ts'
import { backends } from '../kit/backends.ts'
import { eventually } from '../kit/eventually.ts'
import { startFaultProxy } from '../kit/fault-proxy.ts'
import { uniqueName } from '../kit/namespace.ts'
import { server } from '../kit/servers/server.ts'
import { LIBRARIES } from './clients.ts'
import { closedAfterEach } from '../kit/after-each.ts'

const describeOnRedis = backends.has('redis') ? describe : describe.skip

const closing = closedAfterEach()

describeOnRedis.each(LIBRARIES)('a person who asks a Redis by $name that refuses connections', (library) => {
  it('is told so at once, and what was refused', async () => {
    const { port } = new URL((await server('redis')).url)
    const proxy = await startFaultProxy(Number(port || 6379))
    closing.push(() => proxy.stop())
    const client = await library.connect(`redis://127.0.0.1:${proxy.port}`)
    closing.push(client.close)
    const store = client.lease({ prefix: uniqueName('refused') })
    const consumer = defineConsumer({ name: 'sms', store, handle: () => {} })
    const admin = adminOf(consumer, { group: 'workers', origins: ['sms'] })
    expect(await admin.inspect(['4711'])).toMatchObject([{ state: 'absent' }])
    await proxy.stop()
    // What was under way when the connection broke is told otherwise.
    await eventually(() =>
      admin.inspect(['4711']).then(
        () => false,
        (error: Error) => error.message.includes('ECONNREFUSED'),
      ),
    )
    const asked = [
      () => admin.inspect(['4711']),
      () => admin.list({ state: 'parked', limit: 1 }),
      () => admin.audit({ limit: 1 }),
      // Several share one listener of the client.
      () => Promise.all(Array.from({ length: 20 }, (_, at) => admin.inspect([String(at)]))),
    ]
    for (const ask of asked) {
      await expect(ask()).rejects.toMatchObject({
        code: 'STORE_UNREACHABLE',
        message: expect.stringMatching(/^Redis( at 127\.0\.0\.1:\d+)? cannot be connected to: .*ECONNREFUSED/),
      })
    }
  }, 30_000)
})
