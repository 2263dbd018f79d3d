import { describe, expect, it } from '@jest/globals'
import { ConfigError, tokens, type Tokens } from '../../../src/index.ts'
import { memoryStore } from '../../../src/memory/index.ts'
import type { Key, MessageRecord } from '../../../src/core/record.ts'
import { systemClock } from '../../../src/foundation/clock.ts'

const SECRET = 'a secret of 16 b'
const MINUTE = { ttlMs: 60_000 }

function newTokens(scope = 'form', secrets: readonly string[] = [SECRET], store = memoryStore()): Tokens {
  return tokens(store, { secrets, scope })
}

function problems(make: () => unknown): string {
  try {
    make()
  } catch (error) {
    if (error instanceof ConfigError) return error.message
  }
  return 'no ConfigError'
}

describe('tokens', () => {
  it('redeems a token once, also by concurrent calls', async () => {
    const forms = newTokens()
    const token = forms.issue('user-1', MINUTE)
    expect(token).toMatch(/^[\w-]{72}$/)
    const verdicts = await Promise.all(Array.from({ length: 50 }, () => forms.redeem(token, 'user-1')))
    expect(verdicts.filter((verdict) => verdict === 'redeemed')).toHaveLength(1)
    expect(verdicts.filter((verdict) => verdict === 'used')).toHaveLength(49)
    expect(await forms.redeem(token, 'user-1')).toBe('used')
  })

  it('is used up also if what follows fails, and redeemed again where the store has lost its mark [T282]', async () => {
    const records = new Map<Key, MessageRecord>()
    const forms = newTokens('form', [SECRET], memoryStore({ records }))
    const token = forms.issue('user-1', MINUTE)
    expect(await forms.redeem(token, 'user-1')).toBe('redeemed')
    // Nothing tells the store how the work ended.
    expect(await forms.redeem(token, 'user-1')).toBe('used')
    records.clear()
    expect(await forms.redeem(token, 'user-1')).toBe('redeemed')
  })

  it('refuses another subject, and does not use the token up [T281]', async () => {
    const forms = newTokens()
    const token = forms.issue('user-1', MINUTE)
    expect(await forms.redeem(token, 'user-2')).toBe('refused')
    expect(await forms.redeem(token, 'user-1')).toBe('redeemed')
  })

  it('refuses what it has not issued, whatever it is', async () => {
    const store = memoryStore()
    const forms = newTokens('form', [SECRET], store)
    const token = forms.issue('user-1', MINUTE)
    const changed = token.startsWith('A') ? `B${token.slice(1)}` : `A${token.slice(1)}`
    const foreign = newTokens('form', ['another secret!!!'], store).issue('user-1', MINUTE)
    const ofScope = newTokens('other', [SECRET], store).issue('user-1', MINUTE)
    const given = [changed, foreign, ofScope, '', token.slice(1), `${token}A`, '€'.repeat(72)]
    for (const one of given) expect(await forms.redeem(one, 'user-1')).toBe('refused')
    for (const one of [undefined, null, 7, {}]) expect(await forms.redeem(one as never, 'user-1')).toBe('refused')
    expect(await forms.redeem(token, undefined as never)).toBe('refused')
  })

  it('reads no scope and subject as another pair', async () => {
    const store = memoryStore()
    const token = newTokens('a', [SECRET], store).issue('bc', MINUTE)
    expect(await newTokens('ab', [SECRET], store).redeem(token, 'c')).toBe('refused')
  })

  it('tells that a token is expired, by its own clock [T288]', async () => {
    let nowMs = 1_000_000
    const clock = { ...systemClock, now: () => nowMs }
    const forms = tokens(memoryStore(), { secrets: [SECRET], clock })
    const token = forms.issue('user-1', { ttlMs: 1_000 })
    nowMs += 1_000
    expect(await forms.redeem(token, 'user-1')).toBe('expired')
    nowMs -= 1
    expect(await forms.redeem(token, 'user-1')).toBe('redeemed')
  })

  it('accepts tokens of an earlier secret, while it is given', async () => {
    const store = memoryStore()
    const token = newTokens('form', [SECRET], store).issue('user-1', MINUTE)
    expect(await newTokens('form', ['a newer secret!!'], store).redeem(token, 'user-1')).toBe('refused')
    expect(await newTokens('form', ['a newer secret!!', SECRET], store).redeem(token, 'user-1')).toBe('redeemed')
  })

  it('refuses options that cannot be meant, without the secrets in the error', () => {
    expect(problems(() => newTokens('form', ['too short']))).toMatch(/secrets\[0\]: expected .* 16 bytes/)
    expect(problems(() => newTokens('form', ['too short']))).not.toContain('too short')
    expect(problems(() => tokens(memoryStore(), undefined as never))).toMatch(/secrets: expected/)
    expect(problems(() => tokens(memoryStore(), { secrets: [SECRET], ttlMs: 1 } as never))).toContain('ttlMs')
    expect(problems(() => newTokens().issue('', MINUTE))).toContain('subject: expected')
    expect(problems(() => newTokens().issue('user-1', { ttlMs: 0.5 }))).toContain('ttlMs: expected')
    expect(problems(() => newTokens().issue('user-1', undefined as never))).toContain('ttlMs: expected')
  })
})
