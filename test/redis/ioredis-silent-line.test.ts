import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { Redis } from 'ioredis'
import { redisLease } from 'consume-once/redis'
import type { Store } from '../../src/ports/store.ts'
import { claim, newItem } from '../../testing/contract/store/claims.ts'
import { backends } from '../kit/backends.ts'
import { server, SERVER_WITHIN_MS } from '../kit/servers/server.ts'

const describeOnRedis = backends.has('redis') ? describe : describe.skip

/** As a firewall does that has forgotten a connection: nobody is told, and a new connection is none of its business. */
describeOnRedis('redisLease over a connection that falls silent', () => {
  let line: Server
  const open = new Set<Socket>()
  beforeEach(async () => {
    const target = new URL((await server('redis')).url)
    line = createServer((client) => {
      const upstream = connect(Number(target.port), target.hostname)
      for (const socket of [client, upstream]) open.add(socket.on('error', () => socket.destroy()))
      client.pipe(upstream)
      upstream.pipe(client)
    })
    await new Promise<void>((resolve) => void line.listen(0, '127.0.0.1', resolve))
  }, SERVER_WITHIN_MS)
  afterEach(async () => {
    for (const socket of open) socket.destroy()
    open.clear()
    await new Promise((resolve) => line.close(resolve))
  })

  function fallSilent(): void {
    for (const socket of open) socket.unpipe().pause()
  }

  async function over(
    { queryTimeoutMs, ...options }: { readonly socketTimeout?: number; readonly queryTimeoutMs: number },
    use: (store: Store) => Promise<void>,
  ) {
    const { port } = line.address() as AddressInfo
    const redis = new Redis({ port, retryStrategy: () => 10, ...options }).on('error', () => {})
    const store = redisLease({ redis, queryTimeoutMs })
    await store.open()
    expect(await claim(store, newItem())).toMatchObject({ verdict: 'claimed' })
    fallSilent()
    try {
      await use(store)
    } finally {
      redis.disconnect()
    }
  }

  it('asks again on another one where the client has a socketTimeout', async () => {
    await over({ socketTimeout: 500, queryTimeoutMs: 5_000 }, async (store) => {
      expect(await claim(store, newItem())).toMatchObject({ verdict: 'claimed' })
    })
  })

  it('gives every call up in time where the client has none, until the system finds out', async () => {
    await over({ queryTimeoutMs: 600 }, async (store) => {
      for (const item of [newItem(), newItem()]) {
        await expect(claim(store, item)).rejects.toMatchObject({ code: 'STORE_AMBIGUOUS' })
      }
    })
  })
})
