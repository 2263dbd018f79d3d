// A form that is sent twice and counts once. Run: npx tsx examples/tokens.ts
import assert from 'node:assert/strict'
// #region readme
import { tokens } from 'consume-once'
import { memoryStore } from 'consume-once/memory'

// redisLease({ redis }) or postgresLease({ pool }) in production, and the secret from your configuration
const forms = tokens(memoryStore(), { secrets: ['0123456789abcdef'], scope: 'order-form' })

// GET /order: into a hidden field.
const token = forms.issue('user-17', { ttlMs: 15 * 60_000 })

// POST /order, twice: the user has clicked twice.
const verdicts = await Promise.all([forms.redeem(token, 'user-17'), forms.redeem(token, 'user-17')])
console.log(verdicts.filter((verdict) => verdict === 'redeemed').length) // 1: the other is 'used'
// #endregion
assert.deepEqual(verdicts.toSorted(), ['redeemed', 'used'])

// Somebody else has copied it.
assert.equal(await forms.redeem(forms.issue('user-17', { ttlMs: 60_000 }), 'user-18'), 'refused')
