import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { GROUP_PREFIX, type ReplayAdmin } from './log-place.ts'

const TRIES = 5
const AGAIN_MS = 200
/** The broker's code for a group that is not there. */
const GROUP_ID_NOT_FOUND = 69

/** Nothing is committed in it, and nobody else joins it. */
export function throwAwayGroup(): string {
  return `${GROUP_PREFIX}${randomBytes(8).toString('hex')}`
}

/**
 * Never rejects: without members and offsets the broker removes the group by itself, later. A member that has just left
 * may still be counted.
 */
export async function deleteGroup(adminClient: ReplayAdmin, groupId: string): Promise<void> {
  for (let tries = 1; tries <= TRIES; tries++) {
    try {
      await adminClient.ask((admin) => admin.deleteGroups([groupId]))
      return
    } catch (error) {
      if (isNotThere(error)) return
    }
    await sleep(AGAIN_MS * tries)
  }
}

function isNotThere(error: unknown): boolean {
  const { groups } = error as { readonly groups?: unknown }
  return (
    Array.isArray(groups) && groups.every((group: { errorCode?: unknown }) => group.errorCode === GROUP_ID_NOT_FOUND)
  )
}
