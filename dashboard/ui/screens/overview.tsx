import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { alarmsOf, countText, type Alarm } from '../alarms.ts'
import { Chart, type Line } from '../components/chart.tsx'
import { Head } from '../components/head.tsx'
import { Loaded, Problem } from '../components/loaded.tsx'
import { Chip, Empty, KeyLink, OutcomeChip, Tile, Time } from '../components/parts.tsx'
import { Table } from '../components/table.tsx'
import { useShared } from '../context.ts'
import { count, duration, known, place, plural } from '../../format.ts'
import { combine, eventsOf, isUsual, limitsOf, maxOf, runningOf, spanOf, total, type Running } from '../live-view.ts'
import { href } from '../place.ts'
import { infoOf } from '../where.ts'
import { OUTCOME_NAMES, OUTCOMES } from '../words.ts'

const COLUMNS = 60
const [FEW, MANY] = [12, 50]

export function Overview(): JSX.Element {
  const { session, counts, live, guarantees, outboxes } = useShared()
  const alarms = alarmsOf(session, counts.data, live.data, guarantees.data, outboxes.data)
  return (
    <>
      <Head title="Overview" />
      {counts.failure !== undefined && <Problem failure={counts.failure} asksAgain />}
      {counts.data === undefined && counts.failure === undefined ? (
        <div class="card">Looking …</div>
      ) : (
        <Alarms alarms={alarms} />
      )}
      <Backlog />
      {session.hasLive ? <Loaded of={live}>{(data) => <Signals running={runningOf(data)} />}</Loaded> : <NoSignals />}
    </>
  )
}

/** What was handled or has arrived, and waits for somebody else: a relay, or the rate of a provider. */
function Backlog(): JSX.Element | null {
  const { session, live, outboxes } = useShared()
  const all = outboxes.data?.outboxes ?? []
  const limited = limitsOf(live.data)
  if (all.length === 0 && limited.length === 0) return null
  const waiting = all.reduce((sum, one) => sum + one.waiting, 0)
  const parked = all.reduce((sum, one) => sum + one.parked, 0)
  const isSilent = all.some(({ error }) => error !== undefined)
  const held = limited.reduce((sum, one) => sum + one.waiting, 0)
  const [consumer] = all.toSorted((a, b) => b.parked + b.waiting - a.parked - a.waiting)[0]?.consumers ?? []
  return (
    <div class="tiles">
      {all.length > 0 && (
        <Tile title="In the outbox" value={countText({ count: waiting, isAtLeast: isSilent })}>
          {waiting > 0 && `oldest ${duration(Math.max(...all.map((one) => one.oldestMs)))}, `}
          {count(parked)} parked. <a href={href(['outbox'], { consumer })}>Look at it</a>
        </Tile>
      )}
      {limited.length > 0 && (
        <Tile title="Wait for a limit" value={count(held)}>
          {held > 0
            ? `oldest ${duration(Math.max(...limited.map((one) => one.oldestMs)))} `
            : `of ${plural(limited.length, 'process', 'processes')} with a limit. `}
          <a href={href(['consumers'], { consumer: infoOf(session, limited[0]?.live ?? NOBODY)?.id })}>Look at them</a>
        </Tile>
      )}
    </div>
  )
}

const NOBODY = { consumer: '', group: undefined }

function Alarms({ alarms }: { alarms: readonly Alarm[] }): JSX.Element {
  if (alarms.length === 0) {
    return (
      <div class="notice good">
        <strong>All clear</strong>
        <p>No message waits for a person, and no consumer reports a problem.</p>
      </div>
    )
  }
  return (
    <section aria-label="What needs a look">
      <ul class="alarms">
        {alarms.map(({ id, tone, title, about, link }) => (
          <li key={id} class={tone}>
            <Chip tone={tone}>{tone === 'alarm' ? 'Act' : 'Watch'}</Chip>
            <div class="wrap">
              <strong>{title}</strong>
              <p>{about}</p>
            </div>
            {link !== undefined && (
              <a class="button" href={link.href}>
                {link.text}
              </a>
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}

function Signals({ running }: { running: readonly Running[] }): JSX.Element {
  const { theme } = useShared()
  const all = useMemo(() => combine(running), [running])
  const minutes = spanOf(all)
  const shown = useMemo(() => combine(running, minutes, COLUMNS), [running, minutes])
  const span = minutes === 60 ? 'last hour' : `last ${minutes} min`
  const each = shown.stepMs === 60_000 ? 'minute' : duration(shown.stepMs)
  const outcomes = useMemo<readonly Line[]>(
    () =>
      OUTCOME_NAMES.filter((name) => name === 'handled' || name === 'duplicate' || total(shown.outcomes[name]) > 0).map(
        (name) => ({
          title: OUTCOMES[name].title,
          color: name,
          values: shown.outcomes[name],
        }),
      ),
    [shown],
  )
  const latency = useMemo<readonly Line[]>(
    () => [
      { title: 'handler p50', color: 'handled', values: shown.handlerP50Ms },
      { title: 'handler p99', color: 'joined', values: shown.handlerP99Ms },
      { title: 'end to end p99', color: 'dead-lettered', values: shown.endToEndP99Ms },
    ],
    [shown],
  )
  if (running.length === 0) {
    return (
      <Empty title="No consumer has reported yet">
        <p>As soon as a consumer with these live signals starts, its outcomes and latency are shown here.</p>
      </Empty>
    )
  }
  return (
    <>
      <Tiles running={running} all={all} />
      <div class="columns">
        <section class="card">
          <header>
            <h2>Outcomes per {each}</h2>
            <span class="small muted end">{span}</span>
          </header>
          <Chart
            title={`Outcomes per ${each}`}
            kind="stack"
            at={shown.at}
            lines={outcomes}
            text={count}
            theme={theme}
          />
        </section>
        <section class="card">
          <header>
            <h2>Latency</h2>
            <span class="small muted end">worst consumer, {span}</span>
          </header>
          <Chart title="Latency" kind="lines" at={shown.at} lines={latency} text={duration} theme={theme} />
        </section>
      </div>
      <Recent running={running} />
      <Events running={running} />
    </>
  )
}

function Tiles({ running, all }: { running: readonly Running[]; all: ReturnType<typeof combine> }): JSX.Element {
  const { outcomes } = all
  const stopped = total(outcomes.duplicate) + total(outcomes.joined)
  const handled = total(outcomes.handled)
  const arrived = OUTCOME_NAMES.reduce((sum, name) => sum + total(outcomes[name]), 0)
  const ages = running.map(({ live }) => live.duplicateAge.maxMs)
  const oldest = maxOf(ages)
  const retries = total(outcomes.failed) + total(all.attemptsFailed)
  const deadLetters = total(outcomes['dead-lettered'])
  return (
    <div class="tiles">
      <Tile title="Handled, last hour" value={count(handled)}>
        of {plural(arrived, 'delivery', 'deliveries')}
      </Tile>
      <Tile title="Duplicates stopped" value={count(stopped)}>
        {oldest === undefined
          ? stoppedText(outcomes)
          : `${stoppedText(outcomes)}; the latest came ${duration(oldest)} after its mark`}
      </Tile>
      <Tile title="Failed attempts" value={count(retries)}>
        tried again
      </Tile>
      <Tile title="Set aside" value={count(deadLetters + total(outcomes.parked))}>
        {count(deadLetters)} dead-lettered, {count(total(outcomes.parked))} parked
      </Tile>
      <Tile title="Handler p99" value={known(maxOf(running.map(({ live }) => live.handler.p99Ms)), duration)}>
        p50 {known(maxOf(running.map(({ live }) => live.handler.p50Ms)), duration)}, last 5 min
      </Tile>
      <Tile title="End to end p99" value={known(maxOf(running.map(({ live }) => live.endToEnd.p99Ms)), duration)}>
        sent to settled, last 5 min
      </Tile>
    </div>
  )
}

/** As the chart names them. */
function stoppedText({ duplicate, joined }: ReturnType<typeof combine>['outcomes']): string {
  return `${count(total(duplicate))} after the mark, ${count(total(joined))} joined a run`
}

function Recent({ running }: { running: readonly Running[] }): JSX.Element {
  const { session } = useShared()
  const [most, setMost] = useState(FEW)
  const [isOnlyUnusual, setOnlyUnusual] = useState(false)
  const found = running
    .flatMap(({ live }) => live.recent.map((entry) => ({ ...entry, of: infoOf(session, live) })))
    .filter((entry) => !isOnlyUnusual || !isUsual(entry))
    .toSorted((a, b) => b.at - a.at)
  const rows = found.slice(0, most)
  return (
    <section class="card">
      <header>
        <h2>Latest deliveries and failed attempts</h2>
        <label class="check end">
          <input
            type="checkbox"
            checked={isOnlyUnusual}
            onChange={(event) => setOnlyUnusual(event.currentTarget.checked)}
          />
          only what went wrong
        </label>
      </header>
      <p class="small muted">
        By the key, which is made of the message ID. Of a message that fails again and again, only the newest attempt.
      </p>
      <Table
        caption="Latest deliveries"
        rows={rows}
        keyOf={(row, at) => `${row.at} ${row.position} ${at}`}
        columns={[
          {
            title: 'Message',
            cell: (row) =>
              row.key === undefined ? (
                <span class="muted">no usable ID</span>
              ) : (
                <KeyLink of={row.key} consumer={row.of} />
              ),
          },
          {
            title: 'Outcome',
            cell: (row) =>
              row.type === 'delivery' ? (
                <>
                  <OutcomeChip outcome={row.outcome} />
                  {row.reason !== undefined && <span class="small muted"> {row.reason}</span>}
                </>
              ) : (
                <Chip tone="watch">
                  {row.type.replaceAll('-', ' ')}
                  {row.attempt === undefined ? '' : `, ${row.attempt}`}
                </Chip>
              ),
          },
          { title: 'Consumer', cell: (row) => <span class="nowrap">{row.consumer}</span> },
          {
            title: 'Place',
            cell: (row) => {
              const [at, consumer] = [place(row), row.of]
              return row.system === 'kafka' && consumer?.can.place === true ? (
                <a class="mono" href={href(['message'], { consumer: consumer.id, at })}>
                  {at}
                </a>
              ) : (
                <span class="mono">{at}</span>
              )
            },
          },
          {
            title: 'Took',
            isNumber: true,
            cell: (row) => (row.type === 'delivery' ? known(row.durations?.totalMs, duration) : '–'),
          },
          { title: 'When', isNumber: true, cell: (row) => <Time at={row.at} /> },
        ]}
      />
      {found.length > FEW && (
        <button type="button" class="plain" onClick={() => setMost(most === FEW ? MANY : FEW)}>
          {most === FEW ? 'Show more' : 'Show fewer'}
        </button>
      )}
    </section>
  )
}

function Events({ running }: { running: readonly Running[] }): JSX.Element | null {
  const events = eventsOf(running, 8)
  if (events.length === 0) return null
  return (
    <section class="card">
      <header>
        <h2>Broker and store</h2>
      </header>
      <Table
        caption="Events of broker and store"
        rows={events}
        keyOf={({ at, event }, index) => `${at} ${event} ${index}`}
        columns={[
          {
            title: 'Event',
            cell: ({ event, isWarning }) => <Chip tone={isWarning === true ? 'watch' : 'none'}>{event}</Chip>,
          },
          { title: 'Consumer', cell: ({ consumer }) => <span class="nowrap">{consumer}</span> },
          { title: 'Detail', cell: ({ detail }) => <span class="wrap">{detail ?? ''}</span> },
          { title: 'When', isNumber: true, cell: ({ at }) => <Time at={at} /> },
        ]}
      />
    </section>
  )
}

function NoSignals(): JSX.Element {
  return (
    <section class="card">
      <Empty title="No live signals">
        <p>
          This dashboard reads the store: records, decisions and replays. To see outcomes, latency and the time line of
          a message as well, start it with the address of a consumer's health server:
        </p>
        <code>npx consume-once dashboard --instance http://localhost:9464</code>
      </Empty>
    </section>
  )
}
