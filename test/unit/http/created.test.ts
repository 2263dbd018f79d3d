import { describe, expect, it } from '@jest/globals'
import { memoryStore } from 'consume-once/memory'
import { idempotency } from 'consume-once/http'

const YEARS = 365 * 86_400_000

const WRONG: readonly (readonly [Readonly<Record<string, unknown>>, string])[] = [
  [{ whenBusy: 'never' }, 'whenBusy: expected "wait" or "refuse", got "never"'],
  [{ waitMs: '5s' }, 'waitMs: expected a whole number from 1 to 2147483647 (24.8 days, the longest timer), got "5s"'],
  [{ leaseMs: 5 }, 'leaseMs: expected a whole number from 100 to'],
  [{ timeoutMs: 0 }, 'timeoutMs: it is now called handlerTimeoutMs'],
  [{ retentionMs: 1 }, 'retentionMs: expected more than leaseMs + handlerTimeoutMs + graceMs'],
  [{ retentionMs: 200 * YEARS }, 'retentionMs: expected a whole number from 1 to 3153600000000'],
  [{ maxResultBytes: 2 ** 30 }, 'maxResultBytes: '],
  [{ scope: ' ' }, 'scope: expected text'],
  [{ onInDoubt: 'ask' }, 'onInDoubt: expected "rerun" or "park", got "ask"'],
  [{ purge: 'now' }, 'purge: expected "background" or "never", got "now"'],
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
