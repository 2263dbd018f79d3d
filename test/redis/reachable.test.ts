import { describe, expect, it } from '@jest/globals'
import { claim, newItem } from '../../testing/contract/store/claims.ts'
import { backends } from '../kit/backends.ts'
import { startFaultProxy } from '../kit/fault-proxy.ts'
import { server } from '../kit/servers/server.ts'
import { gate } from '../kit/rig.ts'
import { LIBRARIES } from './clients.ts'
import { closedAfterEach } from '../kit/after-each.ts'

const describeOnRedis = backends.has('redis') ? describe : describe.skip

const closing = closedAfterEach()

describeOnRedis.each(LIBRARIES)('redisLease by $name whose client has connected anew', (library) => {
  it('tells who waits for it, until that hears no more', async () => {
    const { port } = new URL((await server('redis')).url)
    const proxy = await startFaultProxy(Number(port || 6379))
    closing.push(() => proxy.stop())
    const client = await library.connect(`redis://127.0.0.1:${proxy.port}`)
    closing.push(client.close)
    const store = client.lease()
    await store.open()
    const back = gate()
    let told = 0
    const stopListening = store.onReachable?.(() => {
      told++
      back.open()
    })
    proxy.cut()
    await back.opened
    expect(await claim(store, newItem())).toMatchObject({ verdict: 'claimed' })
    stopListening?.()
    const before = told
    proxy.cut()
    for (let asked = 0; ; asked++) {
      const answer = await claim(store, newItem()).catch(() => undefined)
      if (answer !== undefined && asked > 0) break
    }
    expect(told).toBe(before)
  }, 30_000)
})
