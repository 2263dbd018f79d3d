// A report that two hosts want to write at the same time: one writes it, the other waits, looks and leaves.
import assert from 'node:assert/strict'
// #region readme
import { withLock } from 'consume-once'
import { redisLease } from 'consume-once/redis'

// #endregion
import { redisUnder, removeKeys } from './support/redis.ts'
import { ownName } from './support/servers.ts'

const prefix = ownName('lock')
const redis = redisUnder(prefix)
const today = '2026-11-25'
const reports = new Map<string, { readonly fence: number | bigint }>()
let highest: number | bigint = 0
/** The stand-in for a storage that refuses a holder which has lost the lock without knowing it. */
async function write(day: string, { fence, signal }: { fence: number | bigint; signal: AbortSignal }): Promise<void> {
  signal.throwIfAborted()
  if (fence < highest) throw new Error('another holder has written')
  highest = fence
  reports.set(day, { fence })
}

const runOnThisHost = async () => {
  // #region readme
  const end = await withLock(redisLease({ redis }), 'nightly-report', async ({ fence, signal }) => {
    if (reports.has(today)) return 'written before' // look after you hold it
    await write(today, { fence, signal })
    return 'written'
  })
  if (end.verdict !== 'ran') throw new Error(`try again later: ${end.verdict}`)
  // #endregion
  return end.result
}

const results = await Promise.all([runOnThisHost(), runOnThisHost()])
console.log(results.toSorted()) // [ 'written', 'written before' ]
assert.deepEqual(results.toSorted(), ['written', 'written before'])
await removeKeys(prefix)
await redis.quit()
