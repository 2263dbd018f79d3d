import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { isRedriveId } from '../../../src/replay/redrive-id.ts'
import type { AuditRow, ConsumerInfo } from '../../api.ts'
import { Loaded } from '../components/loaded.tsx'
import { Empty, KeyLink, Time } from '../components/parts.tsx'
import { Head } from '../components/head.tsx'
import { Table } from '../components/table.tsx'
import { useResource } from '../resource.ts'
import { href } from '../place.ts'

const DECISIONS = [
  'done',
  'rerun',
  'reopen',
  'forget',
  'import',
  'redrive',
  'start',
  'pause',
  'resume',
  'abort',
  'release-hold',
  'search',
  'look',
] as const

interface Filter {
  readonly by?: string
  readonly decision?: string
}

export function Audit({ consumer }: { consumer: ConsumerInfo }): JSX.Element {
  const [after, setAfter] = useState<string>()
  const [filter, setFilter] = useState<Filter>({})
  const query = { consumer: consumer.id, limit: 50, ...filter, ...(after === undefined ? {} : { after }) }
  const page = useResource('api/audit', consumer.can.audit ? query : undefined)
  return (
    <>
      <Head title="Decisions" about="Who decided what, and why" consumer={consumer} />
      <section class="card">
        {consumer.can.audit && (
          <Filters
            filter={filter}
            onChange={(to) => {
              setAfter(undefined)
              setFilter(to)
            }}
          />
        )}
        {consumer.can.audit ? (
          <Loaded of={page}>
            {({ entries, next }) =>
              entries.length === 0 && Object.keys(filter).length > 0 ? (
                <Empty title="No such decision" />
              ) : entries.length === 0 ? (
                <Empty title="No decision yet">
                  <p>
                    Each decision about a message, a replay, a redrive or the consumer is kept here: who, when and why.
                  </p>
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

function Filters({ filter, onChange }: { filter: Filter; onChange: (to: Filter) => void }): JSX.Element {
  const [by, setBy] = useState(filter.by ?? '')
  const { by: _, ...others } = filter
  const { decision = '', ...otherThanDecision } = filter
  return (
    <form
      class="row"
      role="search"
      onSubmit={(event) => {
        event.preventDefault()
        onChange(by === '' ? others : { ...others, by })
      }}
    >
      <label>
        By
        <input type="search" value={by} autocomplete="off" onInput={(event) => setBy(event.currentTarget.value)} />
      </label>
      <label>
        Decision
        <select
          value={decision}
          onChange={({ currentTarget: { value } }) =>
            onChange(value === '' ? otherThanDecision : { ...otherThanDecision, decision: value })
          }
        >
          <option value="">all</option>
          {DECISIONS.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      </label>
      <button type="submit">Show</button>
    </form>
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
            about === undefined ? <KeyLink of={key} consumer={consumer} /> : <About text={about} consumer={consumer} />,
        },
        { title: 'Reason', cell: ({ reason }) => <span class="wrap">{reason}</span> },
      ]}
    />
  )
}

const REPLAY = 'replay '

/** What a note is about: the consumer, or a replay or a redrive, which has a page. */
function About({ text, consumer }: { text: string; consumer: ConsumerInfo | undefined }): JSX.Element {
  const id = text.startsWith(REPLAY) ? text.slice(REPLAY.length) : text
  if (consumer === undefined || (id === text && !isRedriveId(id))) return <span class="wrap">{text}</span>
  return <a href={href(['replays', id], { consumer: consumer.id })}>{text}</a>
}
