import { spawn } from 'node:child_process'
import { once as event } from 'node:events'
import { describe, expect, it } from '@jest/globals'
import { backends } from '../../test/kit/backends.ts'
import { bundledProgram } from '../kit/worker/bundled.ts'
import { CASES, endsOf, type Call } from './ends.ts'
import { pay } from './http-client.ts'

const ON_ALL = ['postgres', 'mariadb', 'redis'] as const
const describeOnAll = ON_ALL.every((on) => backends.has(on)) ? describe : describe.skip

const call: Call = async (spec) => {
  const program = bundledProgram(new URL('http-program.ts', import.meta.url))
  const child = spawn(process.execPath, [program, JSON.stringify(spec)], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = event(child, 'exit')
  const [port] = (await event(child.stdout, 'data')) as [Buffer]
  if (spec.dieAt !== 'never') {
    await expect(pay(Number(port), spec.key)).rejects.toThrow('fetch failed')
    expect(await ended).toEqual([null, 'SIGKILL'])
    return undefined
  }
  const response = await pay(Number(port), spec.key)
  const body: unknown = await response.json()
  child.kill('SIGKILL')
  await ended
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
