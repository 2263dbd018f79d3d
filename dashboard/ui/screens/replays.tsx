import type { JSX } from 'preact'
import type { ConsumerInfo, ReplayInfo } from '../../api.ts'
import { command, quoted } from '../../../src/people/command-text.ts'
import { Loaded } from '../components/loaded.tsx'
import { Bar, Chip, Command, Empty, Time } from '../components/parts.tsx'
import { Head } from '../components/head.tsx'
import { Table } from '../components/table.tsx'
import { useShared } from '../context.ts'
import { count, known } from '../../format.ts'
import { useResource } from '../resource.ts'
import { href } from '../place.ts'
import type { Tone } from '../words.ts'

export const STATUS_TONES: Readonly<Record<ReplayInfo['status'], Tone>> = {
  running: 'none',
  paused: 'watch',
  aborted: 'watch',
  finished: 'good',
  died: 'alarm',
}

export function Replays({ consumer }: { consumer: ConsumerInfo }): JSX.Element {
  const replays = useResource('api/replays', consumer.can.replay ? { consumer: consumer.id } : undefined, 3_000)
  return (
    <>
      <Head
        title="Replays"
        about="Messages that run again on purpose: replays, and redrives of dead letters"
        consumer={consumer}
      />
      <section class="card stack">
        {consumer.can.plan && (
          <div class="row">
            <a class="button primary" href={href(['replays', 'plan'], { consumer: consumer.id })}>
              Plan a replay
            </a>
            <span class="muted">A plan reads and counts. It changes nothing.</span>
          </div>
        )}
        {consumer.can.replay ? (
          <Loaded of={replays}>{(data) => <List consumer={consumer} replays={data.replays} />}</Loaded>
        ) : (
          <Empty title="The store of this consumer keeps no replays" />
        )}
      </section>
    </>
  )
}

function List({ consumer, replays }: { consumer: ConsumerInfo; replays: readonly ReplayInfo[] }): JSX.Element {
  const { session } = useShared()
  if (replays.length === 0) {
    return (
      <Empty title="No replay or redrive was begun yet">
        <p>
          A replay reads a range of a topic, a queue or the dead letters again, and runs what was not handled.
          Everything that is done is stopped as a duplicate. A redrive sends dead letters back.
        </p>
        <Command
          text={command(
            'replay plan',
            consumer,
            session.consumers,
            `--from ${quoted(consumer.places[0] ?? 'kafka:topic')}`,
          )}
        />
      </Empty>
    )
  }
  return (
    <Table
      caption={`Replays of ${consumer.name}`}
      rows={replays}
      keyOf={({ id }) => id}
      columns={[
        {
          title: 'ID',
          cell: ({ id }) => (
            <a class="mono" href={href(['replays', id], { consumer: consumer.id })}>
              {id}
            </a>
          ),
        },
        { title: 'Kind', cell: ({ kind }) => kind },
        { title: 'Status', cell: ({ status }) => <Chip tone={STATUS_TONES[status]}>{status}</Chip> },
        { title: 'From', cell: ({ from }) => <span class="mono">{from}</span> },
        {
          title: 'Progress',
          cell: ({ of, left, status }) => (
            <Bar
              share={of === 0 ? Number(status !== 'running') : (of - left) / of}
              label={`${count(of - left)} of ${count(of)}`}
            />
          ),
        },
        // A replay and a redrive do not count the same.
        { title: 'Handled', isNumber: true, cell: ({ totals }) => known(totals['handled'], count) },
        { title: 'Failed', isNumber: true, cell: ({ totals }) => known(totals['failed'], count) },
        { title: 'Sent back', isNumber: true, cell: ({ totals }) => known(totals['redriven'], count) },
        { title: 'By', cell: ({ by, reason }) => <span class="wrap">{`${by}: ${reason}`}</span> },
        { title: 'Begun', isNumber: true, cell: ({ startedAt }) => <Time at={startedAt} /> },
      ]}
    />
  )
}
