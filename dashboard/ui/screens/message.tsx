import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { ConsumerInfo, DecisionKind, MessageRecord, MessageQuery, ShownMessage } from '../../api.ts'
import { ConsumerPicker } from '../components/picker.tsx'
import { DecisionDialog } from '../components/decision.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Chip, Command, Copyable, Empty, StateChip, Time } from '../components/parts.tsx'
import { Timeline } from '../components/timeline.tsx'
import { AuditTable } from './audit.tsx'
import { useNow, useShared } from '../context.ts'
import { count, duration, exact, zone } from '../../format.ts'
import { useResource } from '../resource.ts'
import { href } from '../place.ts'
import { go } from '../router.ts'
import { DECISIONS } from '../words.ts'

type By = 'id' | 'key' | 'at'

const BY: Readonly<Record<By, { readonly title: string; readonly example: string }>> = {
  id: { title: 'Message ID', example: 'notification-4711' },
  key: { title: 'Key, or its start', example: 'as in the log: 4fZq81…' },
  at: { title: 'Topic/partition/offset', example: 'sms/3/1204' },
}

export function Message({ consumer, query }: { consumer: ConsumerInfo; query: URLSearchParams }): JSX.Element {
  const by = (['id', 'key', 'at'] as const).find((one) => query.has(one))
  const text = by === undefined ? '' : (query.get(by) ?? '')
  const asked: MessageQuery | undefined =
    by === undefined || text === '' ? undefined : { consumer: consumer.id, [by]: text }
  const found = useResource('api/message', asked, 5_000)
  return (
    <>
      <div class="head">
        <h1 class="wrap">{by === 'id' && text !== '' ? `Message ${text}` : 'Message'}</h1>
        <p>Did it go out, and why, or why not?</p>
        <ConsumerPicker consumer={consumer} />
      </div>
      <FindForm key={`${consumer.id} ${by} ${text}`} consumer={consumer} by={by ?? 'id'} text={text} />
      {asked === undefined ? (
        <Empty title="Find a message">
          <p>
            Give the ID that the consumer takes from it, its key as the log and the lists show it, or on Kafka its
            place. What is shown: the record in plain words, each delivery on a time line, and what a person can do.
          </p>
        </Empty>
      ) : (
        <Loaded of={found}>
          {(data) => (
            <>
              {data.noId !== undefined && (
                <div class="notice alarm">
                  <strong>It has no usable ID</strong>
                  <p class="wrap">{data.noId}</p>
                </div>
              )}
              {data.records.length === 0 && data.noId === undefined && (
                <Empty title="No record is found under this key" />
              )}
              {data.records.map((record) => (
                <RecordCard
                  key={`${record.key} ${record.origin ?? ''}`}
                  consumer={consumer}
                  record={record}
                  onChange={found.refresh}
                />
              ))}
              {by === 'id' && data.records.every(({ state }) => state === 'absent') && (
                <OtherConsumers than={consumer} id={text} />
              )}
              {data.message !== undefined && <Shown message={data.message} />}
            </>
          )}
        </Loaded>
      )}
    </>
  )
}

/** An ID belongs to one consumer: it may be the other one's. */
function OtherConsumers({ than, id }: { than: ConsumerInfo; id: string }): JSX.Element | null {
  const { session } = useShared()
  const others = session.consumers.filter((one) => one.id !== than.id && one.can.records)
  if (others.length === 0) return null
  return (
    <p class="row">
      Another consumer may know it:
      {others.map((one) => (
        <a key={one.id} href={href(['message'], { consumer: one.id, id })}>
          {one.name}
        </a>
      ))}
    </p>
  )
}

function FindForm({
  consumer,
  by: first,
  text: before,
}: {
  consumer: ConsumerInfo
  by: By
  text: string
}): JSX.Element {
  const [by, setBy] = useState(first)
  const [text, setText] = useState(before)
  return (
    <form
      class="card form finder"
      role="search"
      onSubmit={(event) => {
        event.preventDefault()
        go(['message'], { consumer: consumer.id, [by]: by === 'id' ? text : text.trim() })
      }}
    >
      <label>
        Find by
        <select value={by} onChange={(event) => setBy(event.currentTarget.value as By)}>
          {(Object.keys(BY) as By[])
            .filter((one) => one !== 'at' || consumer.can.place)
            .map((one) => (
              <option key={one} value={one}>
                {BY[one].title}
              </option>
            ))}
        </select>
      </label>
      <label>
        {BY[by].title}
        <input
          value={text}
          placeholder={BY[by].example}
          autocomplete="off"
          spellcheck={false}
          required
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <button type="submit" class="primary">
        Find
      </button>
    </form>
  )
}

function RecordCard({
  consumer,
  record,
  onChange,
}: {
  consumer: ConsumerInfo
  record: MessageRecord
  onChange: () => void
}): JSX.Element {
  const now = useNow()
  const { tell, session } = useShared()
  const [deciding, decide] = useState<DecisionKind>()
  const { verdicts, isConflict } = record
  const { text: todo, commands } = record.advice
  useEffect(
    () => tell(`State ${record.state}${isConflict ? ', with a conflict' : ''}. ${todo}`),
    [record.key, record.state, isConflict],
  )
  return (
    <article class="card stack" aria-label={`Message ${record.key}`}>
      <header>
        {isConflict && <Chip tone="alarm">Conflict</Chip>}
        <StateChip state={record.state} />
        <Copyable text={record.key} label="the key" />
        {record.origin !== undefined && <span class="muted">published on {record.origin}</span>}
      </header>
      {verdicts.map(({ tone, text, details }) => (
        <div key={tone} class={`notice verdict ${tone}`}>
          <div class="stack wrap">
            <strong>{text}</strong>
            {details.map((detail) => (
              <p key={detail}>{detail}</p>
            ))}
          </div>
        </div>
      ))}
      <div class="columns">
        <section class="stack">
          <h2>What can be done</h2>
          <p class="wrap">{todo}</p>
          {record.decisions.length > 0 && (
            <div class="row">
              {record.decisions.map((kind) => (
                <button
                  key={kind}
                  type="button"
                  class={kind === 'forget' ? 'danger' : ''}
                  title={DECISIONS[kind].about}
                  onClick={() => decide(kind)}
                >
                  {DECISIONS[kind].title}
                </button>
              ))}
            </div>
          )}
          {commands.map((one) => (
            <Command key={one.text} {...one} />
          ))}
        </section>
        <Facts record={record} />
      </div>
      {record.entries.length > 0 ? (
        <section class="stack">
          <h2>What happened</h2>
          <p class="small muted">Times are in {zone(now)}.</p>
          <Story story={record.story} />
          <Timeline entries={record.entries} />
        </section>
      ) : (
        <p class="muted">
          {session.hasLive
            ? 'No running process remembers a delivery of it: the processes keep the last few thousand.'
            : 'The time line needs live signals: start the dashboard with --instance.'}
        </p>
      )}
      {record.audit.length > 0 && (
        <section>
          <h2>Decisions about it</h2>
          <AuditTable entries={record.audit} />
        </section>
      )}
      {deciding !== undefined && (
        <DecisionDialog
          request={{ consumer: consumer.id, decision: deciding, keys: [record.key] }}
          onClose={() => decide(undefined)}
          onDone={() => {
            decide(undefined)
            onChange()
          }}
        />
      )}
    </article>
  )
}

function Story({ story }: { story: MessageRecord['story'] }): JSX.Element {
  return (
    <ol class="story wrap">
      {story.map(({ from, to, text }, at) => (
        <li key={at}>
          {exact(from).slice(11)}
          {to > from && ` to ${exact(to).slice(11)}`}: {text}
        </li>
      ))}
    </ol>
  )
}

function Facts({ record }: { record: MessageRecord }): JSX.Element | null {
  const facts: readonly (readonly [string, JSX.Element | string | undefined])[] = [
    ['Reason', record.reason],
    ['Last error', record.cause],
    ['Attempts', record.attempt === undefined ? undefined : `${count(record.attempt)} of ${count(record.maxAttempts)}`],
    ['Since', record.since === undefined ? undefined : <Time at={record.since} />],
    ['Runs not before', record.notBefore === undefined ? undefined : <Time at={record.notBefore} />],
    ['Lease left', record.leaseLeftMs === undefined ? undefined : duration(record.leaseLeftMs)],
    ['Fence', record.fence === undefined ? undefined : String(record.fence)],
    ['Kept until', record.keepUntil === undefined ? undefined : <Time at={record.keepUntil} />],
    ['Result', record.hasResult === true ? 'is kept for duplicates' : undefined],
    ['Found', record.found],
  ]
  const known = facts.filter(([, value]) => value !== undefined && value !== '')
  if (known.length === 0) return null
  return (
    <section class="stack">
      <h2>Record</h2>
      <dl class="facts">
        {known.map(([name, value]) => [<dt key={name}>{name}</dt>, <dd key={`${name} value`}>{value}</dd>])}
      </dl>
    </section>
  )
}

function Shown({ message }: { message: ShownMessage }): JSX.Element {
  return (
    <section class="card stack">
      <h2>As the broker has it</h2>
      <dl class="facts">
        <dt>Place</dt>
        <dd class="mono">{`${message.part} ${message.position}`}</dd>
        <dt>Sent</dt>
        <dd>
          <Time at={message.timestamp} />
        </dd>
        {message.bytes !== undefined && (
          <>
            <dt>Size</dt>
            <dd>{count(message.bytes)} bytes</dd>
          </>
        )}
        {message.headers?.map(({ name, value }, at) => [
          <dt key={`${name} ${at}`} class="mono wrap">
            {name}
          </dt>,
          <dd key={`${name} ${at} value`} class="mono">
            {value}
          </dd>,
        ])}
      </dl>
      {message.payload === undefined ? (
        <p class="muted">
          Payload and headers are hidden. The option showPayload of the dashboard shows them, redacted.
        </p>
      ) : (
        <pre class="wrap">
          <code>{message.payload}</code>
        </pre>
      )}
      {message.isCut && <p class="muted">The payload is longer, and was cut.</p>}
    </section>
  )
}
