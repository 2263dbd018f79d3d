import type { JSX } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { isRedriveId } from '../../../src/replay/redrive-id.ts'
import type { AuditRow, ConsumerInfo } from '../../api.ts'
import type { Query } from '../client.ts'
import { Loaded } from '../components/loaded.tsx'
import { Empty, KeyLink, Time, Warnings } from '../components/parts.tsx'
import { Head } from '../components/head.tsx'
import { Table, type Column } from '../components/table.tsx'
import { consumerOf, useShared } from '../context.ts'
import { useResource } from '../resource.ts'
import { href } from '../place.ts'
import { titleIn } from '../where.ts'

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

type Filter = Pick<Query<'api/audit'>, 'by' | 'decision' | 'since' | 'until'>

/** @param consumer - `undefined`: of all */
export function Audit({ consumer }: { consumer: ConsumerInfo | undefined }): JSX.Element {
  const { session } = useShared()
  const [filter, setFilter] = useState<Filter>({})
  const hasAudit = consumer === undefined ? session.consumers.some(({ can }) => can.audit) : consumer.can.audit
  return (
    <>
      <Head
        title="Decisions"
        about="Who decided what, and why"
        consumer={consumer}
        hasAll={session.consumers.length > 1}
      />
      <section class="card">
        {hasAudit ? (
          <>
            <Filters onChange={setFilter} />
            <Pages key={JSON.stringify([consumer?.id, filter])} consumer={consumer} filter={filter} />
          </>
        ) : (
          <Empty title="This store keeps no audit" />
        )}
      </section>
    </>
  )
}

function Pages({ consumer, filter }: { consumer: ConsumerInfo | undefined; filter: Filter }): JSX.Element {
  const { session } = useShared()
  const [after, setAfter] = useState<string>()
  const of = consumer === undefined ? {} : { consumer: consumer.id }
  const page = useResource('api/audit', { ...of, limit: 50, ...filter, ...(after === undefined ? {} : { after }) })
  return (
    <Loaded of={page}>
      {({ entries, next, failed }) => (
        <>
          <Warnings
            of={failed.map(({ consumer: id, error }) => `${titleIn(session, id)} is left out: ${error.message}`)}
          />
          {entries.length > 0 ? (
            <AuditTable entries={entries} isOfAll={consumer === undefined} />
          ) : Object.keys(filter).length > 0 ? (
            <Empty title="No such decision" />
          ) : (
            <Empty title="No decision yet">
              <p>Each decision about a message, a replay, a redrive or the consumer is kept here: who, when and why.</p>
            </Empty>
          )}
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
      )}
    </Loaded>
  )
}

function Filters({ onChange }: { onChange: (to: Filter) => void }): JSX.Element {
  const form = useRef<HTMLFormElement>(null)
  return (
    <form
      ref={form}
      class="row wrap"
      role="search"
      onSubmit={(event) => {
        event.preventDefault()
        onChange(filterOf(new FormData(event.currentTarget)))
      }}
    >
      <label>
        By
        <input type="search" name="by" autocomplete="off" />
      </label>
      <label>
        Decision
        <select name="decision" onChange={() => form.current?.requestSubmit()}>
          <option value="">all</option>
          {DECISIONS.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      </label>
      <label>
        Since
        <input type="datetime-local" step={1} name="since" />
      </label>
      <label>
        Before
        <input type="datetime-local" step={1} name="until" />
      </label>
      <button type="submit">Show</button>
    </form>
  )
}

function filterOf(typed: FormData): Filter {
  const text = (name: string): string => {
    const value = typed.get(name)
    return typeof value === 'string' ? value.trim() : ''
  }
  const [by, decision, since, until] = [text('by'), text('decision'), text('since'), text('until')]
  return {
    ...(by === '' ? {} : { by }),
    ...(decision === '' ? {} : { decision }),
    ...(since === '' ? {} : { since: new Date(since).getTime() }),
    ...(until === '' ? {} : { until: new Date(until).getTime() }),
  }
}

type Entry = AuditRow & { readonly consumer?: string }

export function AuditTable({
  entries,
  isOfAll = false,
}: {
  entries: readonly Entry[]
  isOfAll?: boolean
}): JSX.Element {
  const { session } = useShared()
  const consumerColumn: Column<Entry> = {
    title: 'Consumer',
    cell: ({ consumer = '' }) => (
      <a class="wrap" href={href(['audit'], { consumer })}>
        {titleIn(session, consumer)}
      </a>
    ),
  }
  return (
    <Table
      caption="Decisions, the newest first"
      rows={entries}
      keyOf={({ at, key, id }, index) => `${at} ${key} ${id} ${index}`}
      columns={[
        { title: 'When', cell: ({ at }) => <Time at={at} /> },
        ...(isOfAll ? [consumerColumn] : []),
        { title: 'Who', cell: ({ by }) => <span class="wrap">{by}</span> },
        { title: 'Decision', cell: ({ decision }) => decision },
        {
          title: 'About',
          cell: ({ key, about, consumer }) => {
            const of = consumerOf(session, consumer)
            return about === undefined ? <KeyLink of={key} consumer={of} /> : <About text={about} consumer={of} />
          },
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
