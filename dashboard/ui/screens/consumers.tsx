import type { JSX } from 'preact'
import type { ConsumerInfo, LiveMeasure } from '../../api.ts'
import { Head } from '../components/head.tsx'
import { Loaded, Problem } from '../components/loaded.tsx'
import { Chip, Empty, Time } from '../components/parts.tsx'
import { Table } from '../components/table.tsx'
import { useShared } from '../context.ts'
import { count, duration, known, plural } from '../../format.ts'
import { isOf, limitsOf, runningOf, type Running } from '../live-view.ts'
import { useResource } from '../resource.ts'
import { href } from '../place.ts'
import type { Tone } from '../words.ts'
import { VERDICTS } from './doctor.tsx'
import { PauseButton } from '../components/pausing.tsx'

export function Consumers(): JSX.Element {
  const { session, live } = useShared()
  const running = live.data === undefined ? [] : runningOf(live.data)
  return (
    <>
      <Head title="Consumers" />
      {live.failure !== undefined && <Problem failure={live.failure} asksAgain />}
      <Limits />
      {session.consumers.map((consumer) => (
        <ConsumerCard key={consumer.id} consumer={consumer} running={running.filter((one) => isOf(one, consumer))} />
      ))}
    </>
  )
}

/** Who waits for the rate of a limit, how many, and since when. */
function Limits(): JSX.Element | null {
  const { live } = useShared()
  const limited = limitsOf(live.data)
  if (limited.length === 0) return null
  return (
    <section class="card stack" aria-label="Limits">
      <header>
        <h2>Limits</h2>
        <span class="muted">Messages that wait for their turn before their claim, and spend no attempt</span>
      </header>
      <Table
        caption="Who waits for a limit"
        rows={limited}
        keyOf={({ instance, live: { consumer, group } }) => `${instance} ${group} ${consumer}`}
        columns={[
          { title: 'Consumer', cell: ({ live: { consumer } }) => <span class="nowrap">{consumer}</span> },
          { title: 'Process', cell: ({ instance }) => <span class="wrap">{instance}</span> },
          { title: 'Waiting', isNumber: true, cell: ({ waiting }) => count(waiting) },
          {
            title: 'The oldest came',
            isNumber: true,
            cell: ({ waiting, at, oldestMs }) => (waiting === 0 ? '–' : <Time at={at - oldestMs} />),
          },
          {
            title: 'For what',
            cell: ({ check, waiting }) => (
              <span class="wrap">{waiting === 0 && check === 'ok' ? 'nobody waits' : check}</span>
            ),
          },
        ]}
      />
    </section>
  )
}

function ConsumerCard({ consumer, running }: { consumer: ConsumerInfo; running: readonly Running[] }): JSX.Element {
  const { session, guarantees } = useShared()
  const verdict = guarantees.data?.consumers.find((one) => one.consumer === consumer.id)?.verdict
  return (
    <section class="card stack" aria-label={consumer.name}>
      <header>
        <h2>{consumer.name}</h2>
        {(verdict === 'broken' || verdict === 'weaker') && (
          <Chip tone={VERDICTS[verdict][0]}>{VERDICTS[verdict][1]}</Chip>
        )}
        <span class="muted">
          {consumer.system ?? 'broker unknown'} · {consumer.group} · {consumer.origins.join(', ')} · strategy{' '}
          {consumer.strategy}
        </span>
        <nav class="row end" aria-label={`Pages of ${consumer.name}`}>
          <a href={href(['doctor'], { consumer: consumer.id })}>Guarantee</a>
          <a href={href(['settings'], { consumer: consumer.id })}>Settings</a>
        </nav>
      </header>
      {running.map((one) => (
        <Instance key={one.instance} consumer={consumer} {...one} />
      ))}
      {running.length === 0 && (
        <Empty title={session.hasLive ? 'No process reports this consumer' : 'No live signals'}>
          <p>
            {session.hasLive
              ? 'Its process is not running, or its health server is not among the instances of this dashboard.'
              : 'Health, lag and latency come from the processes: name their health servers with --instance.'}
          </p>
        </Empty>
      )}
      {consumer.can.positions && <Positions consumer={consumer} />}
    </section>
  )
}

function stateOf({ live, isReachable }: Running): readonly [Tone, string] {
  if (!isReachable) return ['watch', 'not reachable']
  if (live.stoppedAt !== undefined) return ['none', 'stopped']
  if (live.storeDownSince !== undefined) return ['alarm', 'store down']
  if (live.health === undefined) return ['none', 'not started']
  if (!live.health.live) return ['alarm', `${live.health.state}, restart it`]
  if (live.health.state === 'stalled') return ['alarm', 'stalled']
  if (live.health.state === 'paused') return ['watch', 'paused']
  if (live.health.state === 'holding') return ['alarm', 'holding']
  return live.health.ready
    ? ['good', 'ready']
    : ['watch', live.health.state === 'running' ? 'not ready' : live.health.state]
}

function Instance({ consumer, ...one }: Running & { readonly consumer: ConsumerInfo }): JSX.Element {
  const { live, instance } = one
  const [tone, state] = stateOf(one)
  const checks = Object.entries(live.health?.checks ?? {})
  return (
    <div class="stack">
      <div class="row">
        <Chip tone={tone}>{state}</Chip>
        <strong>{instance}</strong>
        {live.startedAt !== undefined && (
          <span class="muted">
            started <Time at={live.startedAt} />
          </span>
        )}
        <span class="muted">
          {count(live.outcomes.handled)} handled, {plural(live.outcomes.duplicate + live.outcomes.joined, 'duplicate')}{' '}
          stopped since its process reports
        </span>
        <PauseButton consumer={consumer} {...one} />
      </div>
      <ul class="row">
        {checks.map(([name, text]) => (
          <li key={name} class="small muted">
            {name}: {text}
          </li>
        ))}
      </ul>
      <Partitions {...one} />
      <Measures {...one} />
    </div>
  )
}

function Partitions({ live }: Running): JSX.Element | null {
  const partitions = live.health?.partitions ?? []
  if (partitions.length === 0) return null
  const limit = live.leaseMs === undefined ? Infinity : live.leaseMs * 3
  return (
    <Table
      caption={`Partitions of ${live.consumer}`}
      rows={partitions}
      keyOf={({ name }) => name}
      columns={[
        { title: 'Partition', cell: ({ name }) => <span class="mono">{name}</span> },
        { title: 'Lag', isNumber: true, cell: ({ lag }) => known(lag, count) },
        { title: 'Watermark', isNumber: true, cell: ({ watermark }) => watermark ?? '–' },
        { title: 'Committed', isNumber: true, cell: ({ committed }) => committed ?? '–' },
        {
          title: 'Waits since',
          isNumber: true,
          cell: ({ watermarkAgeMs }) =>
            watermarkAgeMs > limit ? <Chip tone="alarm">{duration(watermarkAgeMs)}</Chip> : duration(watermarkAgeMs),
        },
        { title: 'Under way', isNumber: true, cell: ({ inFlight }) => count(inFlight) },
        { title: 'Paused by', cell: ({ paused }) => (paused.length === 0 ? '–' : paused.join(', ')) },
      ]}
    />
  )
}

function Measures({ live }: Running): JSX.Element {
  const rows: readonly (readonly [string, LiveMeasure])[] = [
    ['handler', live.handler],
    ['end to end', live.endToEnd],
    ...Object.entries(live.store).map(([operation, measure]) => [`store ${operation}`, measure] as const),
  ]
  const lease = live.leaseMs
  return (
    <>
      <Table
        caption={`Latency of ${live.consumer}, last 5 minutes`}
        rows={rows}
        keyOf={([name]) => name}
        columns={[
          { title: 'Last 5 minutes', cell: ([name]) => name },
          { title: 'Count', isNumber: true, cell: ([, measure]) => count(measure.count) },
          { title: 'p50', isNumber: true, cell: ([, measure]) => known(measure.p50Ms, duration) },
          { title: 'p99', isNumber: true, cell: ([, measure]) => known(measure.p99Ms, duration) },
          { title: 'Longest', isNumber: true, cell: ([, measure]) => known(measure.maxMs, duration) },
        ]}
      />
      <p class="small muted">
        {lease !== undefined && `Lease ${duration(lease)}. `}
        {live.duplicateAge.maxMs !== undefined &&
          `The latest duplicate came ${duration(live.duplicateAge.maxMs)} after its mark; retention ${known(live.retentionMs, duration)}.`}
      </p>
    </>
  )
}

function Positions({ consumer }: { consumer: ConsumerInfo }): JSX.Element {
  const positions = useResource('api/positions', { consumer: consumer.id }, 10_000)
  return (
    <Loaded of={positions}>
      {(data) => (
        <Table
          caption={`Stored positions of ${consumer.name}`}
          rows={data.positions}
          keyOf={({ stream }) => stream}
          columns={[
            { title: 'Stored position', cell: ({ stream }) => <span class="mono">{stream}</span> },
            { title: 'Next offset', isNumber: true, cell: ({ next }) => next },
            {
              title: 'Held',
              cell: ({ held, heldSince }) =>
                held === undefined ? (
                  '–'
                ) : (
                  <>
                    <Chip tone="alarm">held</Chip> {held} <Time at={heldSince} />
                  </>
                ),
            },
          ]}
        />
      )}
    </Loaded>
  )
}
