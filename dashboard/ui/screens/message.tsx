import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { ConsumerInfo, DecisionKind, FindAnswer, MessageRecord, ShownMessage } from '../../api.ts'
import { ConsumerPicker } from '../components/picker.tsx'
import { DecisionDialog } from '../components/decision.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Chip, Command, Copyable, Empty, StateChip, Time } from '../components/parts.tsx'
import { Timeline } from '../components/timeline.tsx'
import { AuditTable } from './audit.tsx'
import { consumerOf, useNow, useShared } from '../context.ts'
import { count, duration, exact, plural, zone } from '../../format.ts'
import { useResource } from '../resource.ts'
import { href } from '../place.ts'
import { go } from '../router.ts'
import { DECISIONS } from '../words.ts'

/** States in which the dead letters may have it. */
const WITH_DEAD_LETTERS: readonly MessageRecord['state'][] = ['given-up', 'parked', 'absent']

type By = 'id' | 'key' | 'at'

const BY: Readonly<Record<By, { readonly title: string; readonly example: string }>> = {
  id: { title: 'Message ID', example: 'notification-4711' },
  key: { title: 'Key, or its start', example: 'as in the log: 4fZq81…' },
  at: { title: 'Topic/partition/offset', example: 'sms/3/1204' },
}

export function Message({
  consumer,
  isGiven,
  query,
}: {
  consumer: ConsumerInfo
  /** The address names the consumer. */
  isGiven: boolean
  query: URLSearchParams
}): JSX.Element {
  const { session } = useShared()
  const by = (['id', 'key', 'at'] as const).find((one) => query.has(one))
  const text = by === undefined ? '' : (query.get(by) ?? '')
  if (by === undefined || text === '') {
    return (
      <>
        <Head title="Message" consumer={consumer} />
        <FindForm key={consumer.id} consumer={consumer} by="id" text="" />
        <Empty title="Find a message">
          <p>
            Give the ID that the consumer takes from it, its key as the log and the lists show it, or on Kafka its
            place. What is shown: the record in plain words, each delivery on a time line, and what a person can do.
          </p>
        </Empty>
      </>
    )
  }
  if (by === 'id' && !isGiven && session.consumers.length > 1) return <Anywhere key={text} id={text} />
  return <OfConsumer key={`${consumer.id} ${by} ${text}`} consumer={consumer} by={by} text={text} />
}

function Head({ title, consumer }: { title: string; consumer?: ConsumerInfo }): JSX.Element {
  return (
    <div class="head">
      <h1 class="wrap">{title}</h1>
      <p>Did it go out, and why, or why not?</p>
      {consumer !== undefined && <ConsumerPicker consumer={consumer} />}
    </div>
  )
}

/** Whoever has an ID need not know which consumer it belongs to. */
function Anywhere({ id }: { id: string }): JSX.Element {
  const { session } = useShared()
  const found = useResource('api/find', { id }, 5_000)
  const [only, another] = found.data?.found ?? []
  if (only !== undefined && another === undefined && found.data?.failed.length === 0) {
    const consumer = consumerOf(session, only.consumer)
    // A text that is no ID of a message may be the key of one.
    if (consumer !== undefined) {
      return <OfConsumer consumer={consumer} by={only.key === id ? 'key' : 'id'} text={id} />
    }
  }
  return (
    <>
      <Head title={`Message ${id}`} />
      <section class="card stack">
        <Loaded of={found}>{(data) => <Holders id={id} data={data} />}</Loaded>
      </section>
    </>
  )
}

/** The consumers that know an ID; else those that could. */
function Holders({ id, data, but }: { id: string; data: FindAnswer; but?: string }): JSX.Element {
  const { session } = useShared()
  const found = data.found.filter(({ consumer }) => consumer !== but)
  const others = session.consumers.filter(({ id: one, can }) => can.records && one !== but)
  const title =
    found.length === 0
      ? `No ${but === undefined ? '' : 'other '}consumer has a record of this ID`
      : but === undefined
        ? `${plural(found.length, 'consumer')} ${found.length === 1 ? 'has' : 'have'} a message with this ID`
        : 'Another consumer has a message with this ID'
  return (
    <>
      <h2>{title}</h2>
      {found.length === 0 && but === undefined && (
        <p>
          Compare it with what the producer sent: capitals, spaces and each character count. If it is right, no consumer
          has begun the message, or its retention is over. See whether a consumer is behind or paused, and look into the
          dead letters: a queue puts there what was too old for it.
        </p>
      )}
      {data.failed.map(({ consumer, error }) => (
        <div key={consumer} class="notice">
          <p class="wrap">
            {consumer} could not be asked: {error.message}
          </p>
        </div>
      ))}
      {found.length > 0 ? (
        <ul class="stack">
          {found.map(({ consumer, state }) => (
            <li key={consumer} class="row">
              <StateChip state={state} />
              <a href={href(['message'], { consumer, id })}>{consumerOf(session, consumer)?.name}</a>
            </li>
          ))}
        </ul>
      ) : (
        but === undefined && (
          <ul class="row">
            <li>
              <a class="button" href={href(['consumers'])}>
                Look at the consumers
              </a>
            </li>
            {others
              .filter(({ can }) => can.deadLetters)
              .map((one) => (
                <li key={one.id}>
                  <a class="button" href={href(['dead-letters'], { consumer: one.id, id })}>
                    Look into the dead letters of {one.name}
                  </a>
                </li>
              ))}
          </ul>
        )
      )}
    </>
  )
}

function OfConsumer({ consumer, by, text }: { consumer: ConsumerInfo; by: By; text: string }): JSX.Element {
  const found = useResource('api/message', { consumer: consumer.id, [by]: text }, 5_000)
  return (
    <>
      <Head title={by === 'id' ? `Message ${text}` : 'Message'} consumer={consumer} />
      <details>
        <summary>Find another one</summary>
        <FindForm key={`${consumer.id} ${text}`} consumer={consumer} by={by} text={text} />
      </details>
      <Loaded of={found}>
        {(data) => (
          <>
            {data.noId !== undefined && (
              <div class="notice alarm">
                <strong>It has no usable ID</strong>
                <p class="wrap">
                  {data.noId}. Its handler does not run, and the dead letters have it: without an ID, nobody can tell a
                  copy from another message. Let its producer send it again with an ID.
                </p>
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
                id={by === 'id' ? text : undefined}
                onChange={found.refresh}
              />
            ))}
            {by === 'id' && data.records.every(({ state }) => state === 'absent') && (
              <Elsewhere than={consumer} id={text} />
            )}
            {data.message !== undefined && <Shown message={data.message} />}
          </>
        )}
      </Loaded>
    </>
  )
}

/** An ID belongs to one consumer: it may be another one's. */
function Elsewhere({ than, id }: { than: ConsumerInfo; id: string }): JSX.Element | null {
  const { session } = useShared()
  const found = useResource('api/find', session.consumers.length > 1 ? { id } : undefined, 15_000)
  if (found.data === undefined) return null
  return (
    <section class="card stack">
      <Holders id={id} data={found.data} but={than.id} />
    </section>
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
  id,
  onChange,
}: {
  consumer: ConsumerInfo
  record: MessageRecord
  /** If it was found by its ID. */
  id: string | undefined
  onChange: () => void
}): JSX.Element {
  const now = useNow()
  const { tell, session } = useShared()
  const [deciding, decide] = useState<DecisionKind>()
  const { verdicts, isConflict } = record
  const { text: todo, commands } = record.advice
  const hasDeadLetter =
    consumer.can.deadLetters && (isConflict || WITH_DEAD_LETTERS.includes(record.state) || record.attempt === 0)
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
        {record.origin !== undefined && (
          <span class="muted">
            {record.state === 'absent' ? 'looked for among those of' : 'published on'} {record.origin}
          </span>
        )}
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
          {(record.decisions.length > 0 || hasDeadLetter) && (
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
              {hasDeadLetter && (
                <a
                  class="button"
                  href={href(['dead-letters'], { consumer: consumer.id, id, key: id ? '' : record.key })}
                >
                  {isConflict ? 'Look at its dead letters' : 'Look for its dead letter'}
                </a>
              )}
            </div>
          )}
          <details open={session.readOnly}>
            <summary>On the command line</summary>
            <div class="stack">
              {commands.map((one) => (
                <Command key={one.text} {...one} />
              ))}
            </div>
          </details>
        </section>
        <Facts record={record} />
      </div>
      {record.entries.length > 0 ? (
        <section class="stack">
          <h2>
            What happened <span class="small muted">times in {zone(now)}</span>
          </h2>
          <Story
            story={record.story}
            linkTo={(at) => (consumer.can.place ? href(['message'], { consumer: consumer.id, at }) : '')}
          />
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

function Story({ story, linkTo }: { story: MessageRecord['story']; linkTo: (at: string) => string }): JSX.Element {
  return (
    <ol class="story wrap">
      {story.map(({ from, to, text, at }, index) => (
        <li key={index}>
          <span class="muted">
            {exact(from).slice(11)}
            {to > from && ` to ${exact(to).slice(11)}`}
          </span>{' '}
          {text}{' '}
          {at !== undefined && linkTo(at) !== '' && (
            <a class="nowrap" href={linkTo(at)} aria-label={`See it: the message at ${at}`}>
              See it
            </a>
          )}
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
      {message.unmatched.length > 0 && (
        <p class="muted">To be hidden, and not found in this message: {message.unmatched.join(', ')}</p>
      )}
      {message.isCut && <p class="muted">The payload is longer, and was cut.</p>}
    </section>
  )
}
