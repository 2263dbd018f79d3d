import { expect } from '@jest/globals'
import type { JournalEntry, ReplayPlan, ReplayStatus } from '../../src/replay/index.ts'
import type { Incident } from '../../test/replay/incident.ts'

/** Result of a plan. */
export interface Judged {
  readonly plan: ReplayPlan
  readonly entries: readonly JournalEntry[]
  readonly status: ReplayStatus | undefined
  readonly effects: ReadonlyMap<string, number>
}

const PLAN_FILE = 'plan.json'
export const WHY: readonly string[] = ['--reason', 'OPS-812', '--yes', '--json']

/** Plans all that lies in the topic or the queue. Returns the file. */
export async function planned(incident: Incident, more: readonly string[] = []): Promise<string> {
  const file = incident.cli.path(PLAN_FILE)
  // The times of RabbitMQ are whole seconds, so the first of these messages may be as old as the records.
  const unknown = ['--treat-unknown-as', 'handle']
  await incident.json(['replay', 'plan', 'sms', '--from', incident.from, '--out', file, ...unknown, ...more])
  return file
}

export async function judgedOf(incident: Incident): Promise<Judged> {
  const plan = JSON.parse(incident.cli.read(PLAN_FILE)) as ReplayPlan
  const { replays } = await incident.json<{ replays: readonly ReplayStatus[] }>(['replay', 'status', plan.id])
  const lines = incident.cli.read(`plan.${plan.id}.journal.ndjson`).trim().split('\n')
  const entries = lines.map((line) => JSON.parse(line) as JournalEntry).filter((entry) => !('intends' in entry))
  return { plan, entries, status: replays[0], effects: await countedOf(incident) }
}

/** How often the effect of each ID happened. */
export async function countedOf(incident: Incident): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>()
  for (const id of await incident.effects()) counts.set(id, (counts.get(id) ?? 0) + 1)
  return counts
}

/** The journal has each message of the plan once. */
export function expectAccounted({ plan, entries, status }: Judged): void {
  const isKafka = plan.from.startsWith('kafka:')
  const names = entries.map(({ key, part, position }) => (isKafka ? `${part}@${position}` : key))
  expect(status).toMatchObject({ status: 'finished', left: 0 })
  expect([names.length, new Set(names).size]).toEqual([plan.total, plan.total])
}

/** Effects above and below the expected number. Entries that were left or parked explain missing effects. */
export function wrongIn(
  { effects, entries }: Judged,
  ids: readonly string[],
  times = 1,
): { readonly more: number; readonly fewer: number } {
  const counts = ids.map((id) => effects.get(id) ?? 0)
  const left = entries.filter(({ outcome }) => outcome === 'left' || outcome === 'parked').length
  const missing = counts.reduce((sum, count) => sum + Math.max(0, times - count), 0)
  return { more: counts.filter((count) => count > times).length, fewer: Math.max(0, missing - left) }
}
