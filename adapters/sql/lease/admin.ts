import { viewOf, type DecideVerdict, type Decision, type Why } from '../../../src/internal.ts'
import type { AdminCalls } from '../admin.ts'
import { keyOf } from '../bytes.ts'
import { inSteps } from '../in-steps.ts'
import { moveRecords } from './move.ts'
import { recordOf } from './record.ts'
import type { LeasePlace } from './statements.ts'

/** Operations for people on leases. */
export const LEASE_ADMIN: AdminCalls<LeasePlace> = {
  async peek({ leases }, keys) {
    const { rows, now } = await leases.read(keys)
    return new Map(rows.map((row) => [row.key, viewOf(recordOf(row), now)]))
  },

  async list({ leases }, { state, ...page }) {
    const { rows, looked, next } = await inSteps(page, async (step) => {
      const { rows: found, now, ...seenTo } = await leases.list({ ...step, state })
      return { ...seenTo, rows: found.map((row) => ({ key: row.key, view: viewOf(recordOf(row), now) })) }
    })
    return { records: rows.map(({ key, view }) => ({ key: keyOf(key), ...view })), looked, next: next && keyOf(next) }
  },

  decide,

  purge: ({ leases }, { limit }) => leases.purge(limit),
}

async function decide(
  place: LeasePlace,
  keys: readonly string[],
  decision: Decision,
  { by, reason, retentionMs }: Why,
): Promise<ReadonlyMap<string, DecideVerdict>> {
  const command = { command: 'decide', decision, retentionMs } as const
  const moves = keys.map((key) => ({ key, command }))
  const moved = await moveRecords(place, moves, (all) => {
    const decided = all.filter(({ verdict }) => verdict === 'decided') // mutant: reopened-without-audit
    return {
      decision,
      by,
      reason,
      decided: decided.map(({ key, before, now }) => ({
        key,
        before: { ...before, state: viewOf(before, now).state },
      })),
    }
  })
  return new Map(moved.map(({ key, verdict }) => [key, verdict as DecideVerdict]))
}
