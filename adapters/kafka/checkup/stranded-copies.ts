import { countedText, type CheckFinding } from '../../../src/internal.ts'
import type { ResolvedKafka } from '../options/resolve.ts'
import type { Admin } from '../client.ts'
import { groupState, unhandledIn } from './asked.ts'
import { broken, forbidden, weaker } from './findings.ts'

const CHECK = 'stranded-copies'
const DEFAULT_NAME = /^(.+)\.retry-\d+$/

type Options = Pick<ResolvedKafka, 'topology' | 'group'>

/**
 * Finds retry topics with default names that hold copies but are not consumed: those of a group that was renamed, or of
 * an entry that was removed from `retry.topics`.
 */
export async function findingsOfStranded(
  admin: Admin,
  { topology, group }: Options,
  existing: ReadonlySet<string>,
): Promise<CheckFinding[]> {
  const findings = [...existing]
    .filter((topic) => !topology.subscribed.includes(topic))
    .map((topic) => ({ topic, groups: groupsNamedIn(topic, topology.sources) }))
    .filter(({ groups }) => groups.length > 0)
    .map(({ topic, groups }) => findingOf(admin, { topic, groups, own: group }))
  return (await Promise.all(findings)).filter((finding) => finding !== undefined)
}

interface Suspect {
  readonly topic: string
  /** Groups to which the topic may belong, by its name. */
  readonly groups: readonly string[]
  readonly own: string
}

async function findingOf(admin: Admin, { topic, groups, own }: Suspect): Promise<CheckFinding | undefined> {
  const what = `retry topic ${topic}`
  let fewest = Number.POSITIVE_INFINITY
  // The own group too: it may have consumed the topic, and handled all of it.
  for (const group of new Set([own, ...groups])) {
    const unhandled = await unhandledIn(admin, topic, group)
    if (!unhandled.isTold) return forbidden(CHECK, what, unhandled.why)
    fewest = Math.min(fewest, unhandled.value)
    if (fewest === 0) return undefined
  }
  if (groups[0] === own) return ofTakenOut(what, fewest)
  for (const group of groups) {
    const state = await groupState(admin, group)
    if (!state.isTold) return forbidden(CHECK, `${what}, group ${group}`, state.why)
    if (state.value !== 'Empty' && state.value !== 'Dead') return undefined
  }
  return ofOtherGroup(what, fewest, { topic, groups, own })
}

function ofTakenOut(what: string, count: number): CheckFinding {
  return broken(
    'stranded-copies own',
    `${what}: ${countedText(count, 'message')} not handled by this group, which does not consume it`,
    'These messages have failed and wait for their next attempt, which never comes: they are deleted when their retention is over. Put the stage back into retry.topics until it is drained.',
  )
}

function ofOtherGroup(what: string, count: number, { topic, groups: [group = ''], own }: Suspect): CheckFinding {
  return weaker(
    CHECK,
    `${what}: ${countedText(count, 'message')} not handled by group ${group}, which has no members`,
    `If group ${group} was renamed to ${own}, these messages have failed and wait for a next attempt that never comes: they are deleted when their retention is over. Carry the offsets of ${group} in ${topic} over to ${own}, and add ${topic} to topics until it is drained. If ${group} is another application, start it.`,
  )
}

/**
 * Both names may contain dots: `a.b.c.retry-1` may belong to group `b.c` and topic `a`, or to group `c` and topic
 * `a.b`. The first group in the result is the one for the longest topic of this consumer; it is empty if no topic fits.
 */
function groupsNamedIn(topic: string, sources: readonly string[]): string[] {
  const [, name = ''] = DEFAULT_NAME.exec(topic) ?? []
  const [source] = sources.filter((one) => name.startsWith(`${one}.`)).toSorted((a, b) => b.length - a.length)
  if (source === undefined) return []
  const parts = name.slice(source.length + 1).split('.')
  return parts.map((_, index) => parts.slice(index).join('.')).filter((group) => group !== '')
}
