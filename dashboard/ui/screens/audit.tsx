import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { AuditRow, ConsumerInfo } from '../../api.ts'
import { Loaded } from '../components/loaded.tsx'
import { Empty, Time } from '../components/parts.tsx'
import { ConsumerPicker } from '../components/picker.tsx'
import { Table } from '../components/table.tsx'
import { useResource } from '../resource.ts'
import { href } from '../place.ts'

export function Audit({ consumer }: { consumer: ConsumerInfo }): JSX.Element {
  const [after, setAfter] = useState<string>()
  const page = useResource(
    'api/audit',
    consumer.can.audit ? { consumer: consumer.id, limit: 50, ...(after === undefined ? {} : { after }) } : undefined,
  )
  return (
    <>
      <div class="head">
        <h1>Decisions</h1>
        <p>Who decided what, and why</p>
        <ConsumerPicker consumer={consumer} />
      </div>
      <section class="card">
        {consumer.can.audit ? (
          <Loaded of={page}>
            {({ entries, next }) =>
              entries.length === 0 ? (
                <Empty title="No decision yet">
                  <p>Each decision about a message, a replay or the consumer is kept here: who, when and why.</p>
                </Empty>
              ) : (
                <>
                  <AuditTable entries={entries} consumer={consumer} />
                  <div class="row">
                    {after !== undefined && (
                      <button type="button" onClick={() => setAfter(undefined)}>
                        Newest
                      </button>
                    )}
                    {next !== undefined && (
                      <button type="button" onClick={() => setAfter(next)}>
                        Older
                      </button>
                    )}
                  </div>
                </>
              )
            }
          </Loaded>
        ) : (
          <Empty title="This store keeps no audit" />
        )}
      </section>
    </>
  )
}

export function AuditTable({
  entries,
  consumer,
}: {
  entries: readonly AuditRow[]
  consumer?: ConsumerInfo
}): JSX.Element {
  return (
    <Table
      caption="Decisions, the newest first"
      rows={entries}
      keyOf={({ at, key }, index) => `${at} ${key} ${index}`}
      columns={[
        { title: 'When', cell: ({ at }) => <Time at={at} /> },
        { title: 'Who', cell: ({ by }) => <span class="wrap">{by}</span> },
        { title: 'Decision', cell: ({ decision }) => decision },
        {
          title: 'About',
          cell: ({ key, about }) =>
            about !== undefined ? (
              <About text={about} consumer={consumer} />
            ) : consumer === undefined ? (
              <span class="mono">{key.slice(0, 12)}</span>
            ) : (
              <a class="mono" href={href(['message'], { consumer: consumer.id, key })}>
                {key.slice(0, 12)}
              </a>
            ),
        },
        { title: 'Reason', cell: ({ reason }) => <span class="wrap">{reason}</span> },
      ]}
    />
  )
}

const REPLAY = 'replay '

/** What a note is about: the consumer, or a replay, which has a page. */
function About({ text, consumer }: { text: string; consumer: ConsumerInfo | undefined }): JSX.Element {
  if (consumer === undefined || !text.startsWith(REPLAY)) return <span class="wrap">{text}</span>
  return <a href={href(['replays', text.slice(REPLAY.length)], { consumer: consumer.id })}>{text}</a>
}
