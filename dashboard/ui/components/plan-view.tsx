import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import type { ConsumerInfo, ReplayPlan } from '../../api.ts'
import { useShared } from '../context.ts'
import { count, exact, plural } from '../../format.ts'
import { BUCKET_WORDS } from '../words.ts'
import { Chart, type Line } from './chart.tsx'
import { KeyLink, Warnings } from './parts.tsx'
import { Shares } from './table.tsx'

/** Colours of the buckets in the chart: those of the outcomes that they resemble. */
const FILLS: Readonly<Record<string, string>> = {
  fresh: 'handled',
  done: 'duplicate',
  'given-up': 'dead-lettered',
  'in-doubt': 'parked',
  parked: 'lease-lost',
  unknown: 'failed',
}

/** What a plan found, bucket by bucket. */
export function PlanView({ plan, consumer }: { plan: ReplayPlan; consumer: ConsumerInfo }): JSX.Element {
  const { theme } = useShared()
  const buckets = Object.entries(plan.buckets)
    .filter(([, bucket]) => bucket.count > 0)
    .map(([name, { count: found, samples }]) => ({
      name,
      title: BUCKET_WORDS[name] ?? name,
      count: found,
      share: found / Math.max(1, plan.total),
      example: samples.find((sample) => sample.key !== undefined)?.key,
    }))
  const lines = useMemo<readonly Line[]>(
    () =>
      Object.entries(FILLS)
        .map(([name, color]) => ({
          title: name,
          color,
          values: plan.histogram.bins.map(({ counts }) => (counts as Readonly<Record<string, number>>)[name] ?? 0),
        }))
        .filter(({ values }) => values.some((value) => value > 0)),
    [plan],
  )
  const at = useMemo(() => plan.histogram.bins.map((bin) => bin.at), [plan])
  return (
    <section class="card stack" aria-label="Plan">
      <header>
        <h2>{plural(plan.toHandle, 'message')} would be handled</h2>
        <span class="muted end">
          of {count(plan.total)} in the range, from {plan.from}
          {plan.distinct !== undefined &&
            `, ${plan.distinct.isAtLeast ? 'at least ' : ''}${count(plan.distinct.count)} different ${plan.distinct.field}${plan.distinct.without > 0 ? `, ${count(plan.distinct.without)} without it` : ''}`}
        </span>
      </header>
      <Warnings of={plan.warnings} />
      {plan.ids !== undefined && (
        <p class="wrap">
          {count(plan.ids.found)} of {plural(plan.ids.asked, 'ID')} found
          {plan.ids.notFound.length > 0 && `, not: ${plan.ids.notFound.slice(0, 20).join(', ')}`}
        </p>
      )}
      <Shares
        caption="What the range holds"
        of="Messages that are …"
        rows={buckets}
        more={[
          {
            title: 'For example',
            cell: ({ example }) => (example === undefined ? '–' : <KeyLink of={example} consumer={consumer} />),
          },
        ]}
      />
      {at.length > 1 && lines.length > 0 && (
        <Chart title="When they arrived" kind="stack" at={at} lines={lines} text={count} theme={theme} />
      )}
      <p class="small muted wrap">
        A message without a record is proven not handled if it arrived after {exact(plan.horizon.at)}:{' '}
        {plan.horizon.because}.
      </p>
    </section>
  )
}
