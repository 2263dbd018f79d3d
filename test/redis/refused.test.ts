import { describe, expect, it } from '@jest/globals'
import { beforeAllOpen } from '../kit/opened.ts'
import { backends } from '../kit/backends.ts'
import { startPrivateRedis, type PrivateRedis } from '../kit/servers/private-redis.ts'
import { withRedis } from '../kit/servers/clients.ts'
import { LIBRARIES } from './clients.ts'

const describeOnRedis = backends.has('redis') ? describe : describe.skip
const PASSWORD = 'correct-horse'
const WRONG = 'battery-staple'

describeOnRedis('a Redis that wants a password', () => {
  let redis: PrivateRedis
  let host: string

  beforeAllOpen(async (own) => {
    redis = own(await startPrivateRedis())
    await withRedis(redis.url, async (client) => {
      await client.call('ACL', 'SETUSER', 'poor', 'on', `>${PASSWORD}`, '~co:*', '+@read')
      await client.call('ACL', 'SETUSER', 'default', 'resetpass', `>${PASSWORD}`)
    })
    host = `127.0.0.1:${redis.port}`
  })

  const REFUSALS = [
    ['no password', '', 'NOAUTH', 'Give it user and password'],
    ['a wrong password', `:${WRONG}@`, 'WRONGPASS', 'Correct what the client is given'],
    ['a user without rights', `poor:${PASSWORD}@`, 'NOPERM', 'ACL SETUSER'],
  ] as const

  // `connect()` of node-redis itself rejects, or tries again, while it is refused.
  const CASES = LIBRARIES.flatMap((library) =>
    REFUSALS.filter(([, , code]) => library.name === 'ioredis' || code === 'NOPERM').map(
      (refusal) => [library.name, ...refusal, library] as const,
    ),
  )

  it.each(CASES)('by %s: %s is told with what to do, and without the password', async (...given) => {
    const [, , credentials, code, advice, library] = given
    await using client = await library.connect(`redis://${credentials}${host}`)
    const store = client.lease()
    const told = await Promise.resolve(store.open()).then(() => 'opened', String)
    expect(told).toContain(`StoreError: Redis at ${host} refuses: `)
    expect(told).toContain(code)
    expect(told).toContain(advice)
    expect(told).not.toMatch(new RegExp(`${PASSWORD}|${WRONG}`))
  })
})
