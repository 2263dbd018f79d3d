import { describe, expect, it } from '@jest/globals'
import { memoryStore } from 'consume-once'
import { idempotency } from 'consume-once/http'

const YEARS = 365 * 86_400_000

const WRONG: readonly (readonly [Readonly<Record<string, unknown>>, string])[] = [
  [{ whenBusy: 'never' }, 'whenBusy: expected wait, refuse, got "never"'],
  [{ waitMs: '5s' }, 'waitMs: expected a whole number from 1, got "5s"'],
  [{ waitMs: 2 ** 31 }, 'waitMs: expected at most 2147483647'],
  [{ leaseMs: 5 }, 'leaseMs: expected at least 100, got 5'],
  [{ leaseMs: 2 ** 31 }, 'leaseMs: expected at most 2147483647'],
  [{ timeoutMs: 0 }, 'timeoutMs: expected a whole number from 1, got 0'],
  [{ graceMs: 2 ** 31 }, 'graceMs: expected at most 2147483647'],
  [{ retentionMs: 1 }, 'retentionMs: expected more than leaseMs + timeoutMs + graceMs'],
  [{ retentionMs: 200 * YEARS }, 'retentionMs: expected at most 3153600000000 (100 years)'],
  [{ maxResultBytes: 2 ** 30 }, 'maxResultBytes: '],
  [{ scope: ' ' }, 'scope: expected text'],
  [{ onInDoubt: 'ask' }, 'onInDoubt: expected rerun, park, a function, got "ask"'],
  [{ purge: 'now' }, 'purge: expected background, never, got "now"'],
]

describe('a guard of HTTP', () => {
  it.each(WRONG)('refuses %j at its creation, not at the first request', (wrong, problem) => {
    const options = { store: memoryStore(), caller: () => 'me', ...wrong } as never
    expect(() => idempotency(options)).toThrow(problem)
  })
})

describe('a body that cannot be compared', () => {
  it('is told to a user of fetch with what fetch has: no parser, no rawBody', async () => {
    const handler = idempotency({ store: memoryStore(), caller: () => 'me' }).fetch(() => new Response())
    const body = new FormData()
    body.set('note', 'a')
    const request = new Request('http://localhost/pay', { method: 'POST', headers: { 'idempotency-key': 'k' }, body })
    const response = await handler(request)
    const told = await response.text()
    expect(response.status).toBe(415)
    expect(told).toContain('give the option fingerprint')
    expect(told).not.toMatch(/parser|rawBody/)
  })
})
