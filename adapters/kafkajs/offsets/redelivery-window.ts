import type { RedeliveryWindow } from '../../../src/index.ts'
import { settingsOf } from '../copies/topics.ts'
import type { AdminDesk } from './admin-desk.ts'

/** For how long the topics that are consumed keep a message: a rewind brings all of it again. `undefined`: none tells. */
export async function redeliveryWindow(
  desk: AdminDesk,
  topics: readonly string[],
): Promise<RedeliveryWindow | undefined> {
  const settings = await desk.ask((admin) => Promise.all(topics.map((topic) => settingsOf(admin, topic))))
  let longest: number | undefined
  for (const { retentionMs, isDeleted } of settings) {
    if (retentionMs === undefined) continue
    if (retentionMs < 0 || isDeleted === false) return 'for-ever'
    longest = Math.max(longest ?? 0, retentionMs)
  }
  return longest
}
