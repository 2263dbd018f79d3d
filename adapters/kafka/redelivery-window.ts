import type { RedeliveryWindow } from '../../src/internal.ts'
import { settingsOf } from './copies/topics.ts'
import type { AdminClient } from './admin-client.ts'

/** How long the consumed topics keep a message: after a rewind it is delivered again. `undefined`: unknown. */
export async function redeliveryWindow(
  adminClient: AdminClient,
  topics: readonly string[],
): Promise<RedeliveryWindow | undefined> {
  const settings = await adminClient.ask((admin) => Promise.all(topics.map((topic) => settingsOf(admin, topic))))
  let longest: number | undefined
  for (const { retentionMs, isDeleted } of settings) {
    if (retentionMs === undefined) continue
    if (retentionMs < 0 || isDeleted === false) return 'for-ever'
    longest = Math.max(longest ?? 0, retentionMs)
  }
  return longest
}
