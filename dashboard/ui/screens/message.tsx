import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { ConsumerInfo, FindAnswer, ShownMessage } from '../../api.ts'
import { Head } from '../components/head.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Empty, Facts, StateChip, Time, Warnings } from '../components/parts.tsx'
import { consumerOf, useShared } from '../context.ts'
import { plural } from '../../format.ts'
import { useResource } from '../resource.ts'
import { href } from '../place.ts'
import { go } from '../router.ts'
import { RecordCard } from './record-card.tsx'

type By = 'id' | 'key' | 'at'

const BY: Readonly<Record<By, { readonly title: string; readonly example: string }>> = {
  id: { title: 'Message ID', example: 'notification-4711' },
  key: { title: 'Key, its start, or idempotency key', example: 'as in the log: 4fZq81…' },
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
  const by = (['id', 'key', 'at'] as const).find((one) => query.has(one))
  const text = by === undefined ? '' : (query.get(by) ?? '')
  if (by === undefined || text === '') {
    return (
      <>
        <Head title="Message" about={ABOUT} consumer={consumer} />
        <FindForm key={consumer.id} consumer={consumer} by="id" text="" />
        <Empty title="Find a message">
          <p>
            Give the ID that the consumer takes from it, its key as the log and the lists show it, the idempotency key
            that a provider has, or on Kafka its place. What is shown: the record in plain words, each delivery on a
            time line, and what a person can do. If you have something else of the message, such as an order number,{' '}
            <a href={href(['search'])}>search for it</a>.
          </p>
        </Empty>
      </>
    )
  }
  if (by === 'id' && !isGiven) return <Anywhere key={text} id={text} />
  return <OfConsumer key={`${consumer.id} ${by} ${text}`} consumer={consumer} by={by} text={text} />
}

/** What every page about a message answers. */
const ABOUT = 'Did it go out, and why, or why not?'

/** Whoever has an ID, a key or a place need not know which of them it is, nor which consumer it belongs to. */
function Anywhere({ id }: { id: string }): JSX.Element {
  const { session } = useShared()
  const found = useResource('api/find', { id }, 5_000)
  const [only, another] = found.data?.found ?? []
  if (only !== undefined && another === undefined && found.data?.failed.length === 0) {
    const consumer = consumerOf(session, only.consumer)
    if (consumer !== undefined)
      return <OfConsumer consumer={consumer} by={only.by} text={only.by === 'id' ? id : id.trim()} />
  }
  return (
    <>
      <Head title={`Message ${id}`} about={ABOUT} />
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
      ? `No ${but === undefined ? '' : 'other '}consumer has a record of it`
      : but === undefined
        ? `${plural(found.length, 'consumer')} ${found.length === 1 ? 'has' : 'have'} a message with this ID`
        : 'Another consumer has a message with this ID'
  return (
    <>
      <h2>{title}</h2>
      {found.length === 0 && but === undefined && (
        <p>
          It was looked for as a message ID, as a key, as an idempotency key, and on Kafka as a place. Compare it with
          what the producer sent: capitals, spaces and each character count. If it is right, no consumer has begun the
          message, or its retention is over. See whether a consumer is behind or paused, and look into the dead letters:
          a queue puts there what was too old for it.
        </p>
      )}
      <Warnings of={data.failed.map(({ consumer, error }) => `${consumer} could not be asked: ${error.message}`)} />
      {found.length > 0 ? (
        <ul class="stack">
          {found.map(({ consumer, state, by }) => (
            <li key={`${consumer} ${by}`} class="row">
              {state !== undefined && <StateChip state={state} />}
              <a href={href(['message'], { consumer, [by]: by === 'id' ? id : id.trim() })}>
                {consumerOf(session, consumer)?.name}
              </a>
            </li>
          ))}
        </ul>
      ) : (
        but === undefined && (
          <ul class="row">
            <li>
              <a class="button" href={href(['search'], { text: id })}>
                Search dead letters and topics for this text
              </a>
            </li>
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
      <Head title={by === 'id' ? `Message ${text}` : 'Message'} about={ABOUT} consumer={consumer} />
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

function Shown({ message }: { message: ShownMessage }): JSX.Element {
  return (
    <section class="card stack">
      <h2>As the broker has it</h2>
      <Facts
        of={[
          ['Place', <span class="mono">{`${message.part} ${message.position}`}</span>],
          ['Sent', <Time at={message.timestamp} />],
          ...(message.bytes === undefined ? [] : [['Size', plural(message.bytes, 'byte')] as const]),
          ...(message.headers ?? []).map(({ name, value }) => [name, <span class="mono">{value}</span>] as const),
        ]}
      />
      {message.payload === undefined ? (
        <p class="muted">
          Payload and headers of this consumer are hidden. The option showPayload of the dashboard shows them, redacted.
        </p>
      ) : (
        <pre class="wrap">
          <code>{message.payload}</code>
        </pre>
      )}
      {message.payload !== undefined && message.unnoted === undefined && (
        <p class="muted">The audit of the consumer has that you were shown this.</p>
      )}
      {message.unnoted !== undefined && (
        <Warnings of={[`The audit does not have that you were shown this: ${message.unnoted}`]} />
      )}
      {message.unmatched.length > 0 && (
        <p class="muted">To be hidden, and not found in this message: {message.unmatched.join(', ')}</p>
      )}
      {message.isCut && <p class="muted">The payload is longer, and was cut.</p>}
    </section>
  )
}
