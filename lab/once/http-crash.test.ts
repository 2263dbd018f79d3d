import { describe, expect, it } from '@jest/globals'
import { backends } from '../../test/kit/backends.ts'
import { CASES, endsOf, type Call } from './ends.ts'
import { pay, serving } from './http-client.ts'

const ON_ALL = ['postgres', 'mariadb', 'redis'] as const
const describeOnAll = ON_ALL.every((on) => backends.has(on)) ? describe : describe.skip

const call: Call = async (spec) => {
  const server = await serving(spec)
  if (spec.dieAt !== 'never') {
    await expect(pay(server.port, spec.key)).rejects.toThrow('fetch failed')
    expect(await server.end()).toEqual([null, 'SIGKILL'])
    return undefined
  }
  const response = await pay(server.port, spec.key)
  const body: unknown = await response.json()
  await server.end()
  if (response.status === 409) {
    expect(body).toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    return 'in doubt'
  }
  // The repeated answer is that of the first request, whose client never got it.
  expect([response.status, body]).toEqual([201, { paid: spec.key }])
  return response.headers.get('idempotency-replayed') === 'true' ? 'replayed' : 'ran'
}

describeOnAll('a server that is killed over a request with an Idempotency-Key', () => {
  it.each(CASES)(
    'Idempotency-Key, killed at each step: %s [T261]',
    async (_name, open, onInDoubt, ends) => {
      await using store = await open()
      expect(await endsOf(call, store, onInDoubt)).toEqual(ends)
    },
    90_000,
  )
})
