import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { ConsumerInfo, OutboxAnswer } from '../../api.ts'
import { OUTBOX_LATE_MS } from '../alarms.ts'
import { post } from '../client.ts'
import { Dialog } from '../components/dialog.tsx'
import { confirmation, REASON } from '../components/form.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Chip, Command, Empty } from '../components/parts.tsx'
import { Head } from '../components/head.tsx'
import { Table } from '../components/table.tsx'
import { command } from '../../../src/people/command-text.ts'
import { useShared } from '../context.ts'
import { count, duration, plural } from '../../format.ts'
import { href } from '../place.ts'
import { useResource, type Resource } from '../resource.ts'

const ABOUT = 'Messages that its handlers have committed and no relay has published yet'

export function Outbox({ consumer }: { consumer: ConsumerInfo }): JSX.Element {
  const answer = useResource('api/outbox', consumer.can.outbox ? { consumer: consumer.id } : undefined, 5_000)
  return (
    <>
      <Head title="Outbox" about={ABOUT} consumer={consumer} />
      {consumer.can.outbox ? (
        <Loaded of={answer}>
          {(data) => (
            <>
              <Destinations consumer={consumer} data={data} />
              {data.refused.length > 0 && <Refused consumer={consumer} data={data} answer={answer} />}
            </>
          )}
        </Loaded>
      ) : (
        <section class="card">
          <Empty title="This consumer has no outbox">
            <p>Its handlers publish nothing with ctx.publish: its store was made without an outbox.</p>
          </Empty>
        </section>
      )}
    </>
  )
}

function Destinations({ consumer, data }: { consumer: ConsumerInfo; data: OutboxAnswer }): JSX.Element {
  const { session } = useShared()
  return (
    <section class="card stack">
      {data.backlog.length === 0 ? (
        <Empty title="Nothing waits">
          <p>All that was committed is published and confirmed.</p>
        </Empty>
      ) : (
        <Table
          caption="By destination"
          rows={data.backlog}
          keyOf={({ system, place }) => `${system} ${place}`}
          columns={[
            { title: 'Destination', cell: ({ place }) => <span class="wrap">{place}</span> },
            { title: 'Broker', cell: ({ system }) => (system === 'kafka' ? 'Kafka' : 'RabbitMQ') },
            { title: 'Waiting', isNumber: true, cell: ({ waiting }) => count(waiting) },
            { title: 'Refused before', isNumber: true, cell: ({ failing }) => count(failing) },
            { title: 'Parked', isNumber: true, cell: ({ parked }) => count(parked) },
            {
              title: 'Oldest that waits',
              isNumber: true,
              cell: ({ waiting, oldestMs }) =>
                waiting === 0 ? (
                  '–'
                ) : oldestMs < OUTBOX_LATE_MS ? (
                  duration(oldestMs)
                ) : (
                  <Chip tone="alarm">{duration(oldestMs)}</Chip>
                ),
            },
          ]}
        />
      )}
      <Command text={command('inspect', consumer, session.consumers, '--outbox')} />
    </section>
  )
}

function Refused({
  consumer,
  data,
  answer,
}: {
  consumer: ConsumerInfo
  data: OutboxAnswer
  answer: Resource<OutboxAnswer>
}): JSX.Element {
  const { session } = useShared()
  const [chosen, choose] = useState<ReadonlySet<string>>(new Set())
  const [isAsking, ask] = useState(false)
  // What was published meanwhile is not there any more.
  const ids = data.refused.flatMap(({ id }) => (chosen.has(id) ? [id] : []))
  const toggle = (id: string): void => {
    const next = new Set(chosen)
    if (!next.delete(id)) next.add(id)
    choose(next)
  }
  const isAll = ids.length === data.refused.length
  return (
    <section class="card stack">
      <h2>Refused by the broker</h2>
      <Table
        caption="Refused by the broker"
        rows={data.refused}
        keyOf={({ id }) => id}
        columns={[
          {
            title: 'Message ID',
            cell: ({ id, messageId }) =>
              session.readOnly ? (
                <span class="mono wrap">{messageId}</span>
              ) : (
                <label class="check">
                  <input type="checkbox" checked={chosen.has(id)} onChange={() => toggle(id)} />
                  <span class="mono wrap">{messageId}</span>
                </label>
              ),
          },
          {
            title: 'Published by',
            // Of whichever consumer: several may share an outbox.
            cell: ({ messageId, handled }) =>
              handled === undefined ? (
                '–'
              ) : (
                <a class="mono" href={href(['message'], { id: messageId })}>
                  {handled.slice(0, 12)}
                </a>
              ),
          },
          { title: 'Key', cell: ({ key }) => <span class="mono wrap">{key ?? '–'}</span> },
          { title: 'Destination', cell: ({ place }) => <span class="wrap">{place}</span> },
          {
            title: 'State',
            cell: ({ isParked }) => (
              <Chip tone={isParked ? 'alarm' : 'watch'}>{isParked ? 'parked' : 'tried again'}</Chip>
            ),
          },
          { title: 'Attempts', isNumber: true, cell: ({ attempts }) => count(attempts) },
          { title: 'Reason', cell: ({ cause = '' }) => <span class="wrap">{cause}</span> },
        ]}
      />
      {!session.readOnly && (
        <div class="actions">
          <span role="status">{plural(ids.length, 'message')} chosen</span>
          <button type="button" onClick={() => choose(new Set(isAll ? [] : data.refused.map(({ id }) => id)))}>
            {isAll ? 'Choose none' : 'Choose all'}
          </button>
          <button type="button" disabled={ids.length === 0} onClick={() => ask(true)}>
            Publish now …
          </button>
        </div>
      )}
      {isAsking && (
        <RedriveDialog
          consumer={consumer}
          ids={ids}
          onClose={() => ask(false)}
          onDone={() => {
            ask(false)
            choose(new Set())
            answer.refresh()
          }}
        />
      )}
    </section>
  )
}

function RedriveDialog({
  consumer,
  ids,
  onClose,
  onDone,
}: {
  consumer: ConsumerInfo
  ids: readonly string[]
  onClose: () => void
  onDone: () => void
}): JSX.Element {
  const { say, session } = useShared()
  const send = async (reason = ''): Promise<void> => {
    const asked = { consumer: consumer.id, ids, reason, confirm: ids.length }
    const { redriven, left, isNoted } = await post('api/outbox/redrive', asked)
    const gone = left > 0 ? ` ${count(left)} had gone meanwhile.` : ''
    const unnoted = isNoted ? '' : ' The audit does not have it: its store keeps no notes.'
    say(`A relay publishes ${plural(redriven, 'message')} now.${gone}${unnoted}`)
    onDone()
  }
  const hint = `Kept in the audit, with your name (${session.by}). No payload, no secret.`
  return (
    <Dialog
      title="Publish now"
      fields={[{ ...REASON, hint }, ...(ids.length > 1 ? [confirmation(ids.length)] : [])]}
      submit={`Publish now: ${plural(ids.length, 'message')}`}
      onClose={onClose}
      onSubmit={({ reason }) => send(reason)}
    >
      <p>
        The relay of any process tries {ids.length === 1 ? 'it' : 'them'} now, under the same message ID, with all
        attempts. What is refused again is shown here again.
      </p>
    </Dialog>
  )
}
