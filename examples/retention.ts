// How long must a mark be kept? As long as the broker can deliver the message again.
import assert from 'node:assert/strict'
import { suggestRetention } from 'consume-once'

// #region readme
const { retentionMs, isEnough, because } = suggestRetention({
  topicRetentionMs: 604_800_000, // a week
  leaseMs: 30_000,
  maxAttempts: 5,
})
console.log(retentionMs, isEnough, because) // 608_400_000, true, and how it adds up: a week, a lease, the margin of clocks
// #endregion
assert.equal(retentionMs, 608_400_000)
assert.equal(isEnough, true)
