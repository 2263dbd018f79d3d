import { ageOf } from '../age.ts'
import { dateOf } from '../records/date.ts'
import {
  BUCKETS,
  durationOf,
  type Bucket,
  type Histogram,
  type IdsFound,
  type ReplayPlan,
} from '../../src/replay/index.ts'
import { durationText, stepFor } from '../../src/internal.ts'
import { printable, table } from '../output.ts'
import { countedText } from '../../src/core/counted-text.ts'

const DOES: Readonly<Record<ReturnType<typeof stepFor>, string>> = {
  handle: 'handle',
  forget: 'forget, then handle AGAIN',
  reopen: 'reopen, then handle',
  rerun: 'handle once more',
  wait: 'look again at the end',
  skip: 'skip',
  leave: 'leave to a person',
  refuse: 'REFUSE the run',
}

const MEANS: Readonly<Record<Bucket, string>> = {
  fresh: 'not handled yet',
  done: 'its effect happened',
  'given-up': 'dead-lettered, no effect',
  processing: 'somebody handles it now',
  'in-doubt': 'its effect may have happened',
  parked: 'waits for `resolve`',
  conflict: 'the same ID with another payload: the bytes must be equal',
  'no-id': 'no usable message ID',
  unreadable: 'message or record cannot be read',
  unknown: 'no record, and it may be older than what the store remembers',
  looped: 'was replayed too often',
  undated: 'no time, or one in the future, for --since and --until: --include undated',
  'no-reason': 'does not say why it was set aside, for --reason-is: --include no-reason',
  'no-field': 'lacks a field of --where: --include no-field',
  filtered: 'does not match what you asked for',
}

/** A plan, for people. `samples`: with messages of each bucket. */
export function planText(plan: ReplayPlan, rate: number | undefined, samples = false): string {
  const { id, consumer, from, total, toHandle, distinct, warnings, rules, buckets } = plan
  // The plan may be of an earlier version, which had fewer buckets.
  const found = BUCKETS.filter((bucket) => (buckets[bucket]?.count ?? 0) > 0)
  const rows = found.map((bucket) => [
    bucket,
    buckets[bucket].count.toLocaleString('en'),
    DOES[stepFor(bucket, rules)],
    MEANS[bucket],
  ])
  return [
    `plan ${id}: ${consumer} from ${printable(from)}, ${countedText(total, 'message')}, ${toHandle.toLocaleString('en')} to handle`,
    table(['BUCKET', 'COUNT', 'A RUN WILL', 'MEANS'], rows),
    ...idsText(plan.ids),
    ...(samples ? [samplesText(plan)] : []),
    ...timesText(plan.histogram),
    ...(buckets.unknown.count > 0 ? [horizonText(plan)] : []),
    ...(distinct === undefined
      ? []
      : [
          `${distinct.isAtLeast ? 'at least ' : ''}${distinct.count.toLocaleString('en')} different ${distinct.field}${withoutText(distinct.without)}`,
        ]),
    ...(rate === undefined
      ? []
      : [`takes ${durationText(durationOf(plan, rate))} at ${countedText(rate, 'message')} a second`]),
    ...warnings.map((warning) => `note: ${warning}`),
  ].join('\n')
}

/** How many of the IDs that were asked for are there, and which are not. */
export function idsText(ids: IdsFound | undefined): readonly string[] {
  if (ids === undefined) return []
  const { asked, found, notFound, withoutId } = ids
  const missing = asked - found
  const more = missing > notFound.length ? `, and ${(missing - notFound.length).toLocaleString('en')} more` : ''
  return [
    missing === 0
      ? `IDs: all ${asked.toLocaleString('en')} found`
      : `IDs: ${found.toLocaleString('en')} of ${asked.toLocaleString('en')} found; not found: ${notFound.map(printable).join(', ')}${more}`,
    ...(withoutId > 0
      ? [
          `note: ${countedText(withoutId, 'message has', 'messages have')} no usable ID: nothing tells whether ${withoutId === 1 ? 'it is' : 'they are'} among them`,
        ]
      : []),
  ]
}

function withoutText(count: number): string {
  return count > 0 ? `, ${count.toLocaleString('en')} without it` : ''
}

function samplesText({ buckets }: ReplayPlan): string {
  const rows = BUCKETS.flatMap((bucket) =>
    (buckets[bucket]?.samples ?? []).map(({ part, position, key, at, detail }) => [
      bucket,
      `${part} ${position}`,
      key ?? '',
      dateOf(at) ?? '',
      ageOf(at),
      printable(detail ?? ''),
    ]),
  )
  return table(['BUCKET', 'PLACE', 'KEY', 'TIME', 'AGE', 'DETAIL'], rows)
}

function horizonText({ horizon: { at, because }, createdAt }: ReplayPlan): string {
  return at > createdAt
    ? `that a message has no record proves nothing: ${because}`
    : `that a message has no record proves that it was not handled if it arrived after ${new Date(at).toISOString()}: ${because}`
}

const BARS = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█']

/** One line: how many messages came when. */
function timesText({ bins, binMs, undated }: Histogram<Bucket>): readonly string[] {
  const [first] = bins
  const last = bins.at(-1)
  if (first === undefined || last === undefined || first === last) return []
  const counts = new Map(
    bins.map(({ at, counts: by }) => [at, Object.values(by).reduce((sum, count) => sum + count, 0)]),
  )
  const most = Math.max(...counts.values())
  let line = ''
  for (let at = first.at; at <= last.at; at += binMs) {
    const count = counts.get(at) ?? 0
    line += count === 0 ? ' ' : (BARS[Math.ceil((count / most) * BARS.length) - 1] ?? '')
  }
  const left = undated === 0 ? '' : `, ${undated} without a time`
  return [
    `${new Date(first.at).toISOString()} |${line}| ${new Date(last.at + binMs).toISOString()}, ${durationText(binMs)} each${left}`,
  ]
}
