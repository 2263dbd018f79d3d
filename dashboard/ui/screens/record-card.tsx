import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { ConsumerInfo, DecisionKind, MessageRecord, SearchFound } from '../../api.ts'
import { post } from '../client.ts'
import { DecisionDialog } from '../components/decision.tsx'
import { PlaceLink, SearchProgress } from '../components/found.tsx'
import { Problem } from '../components/loaded.tsx'
import { Chip, Command, Copyable, Facts, StateChip, Time, Warnings } from '../components/parts.tsx'
import { Timeline } from '../components/timeline.tsx'
import { useNow, useShared } from '../context.ts'
import { count, duration, exact, plural, zone } from '../../format.ts'
import { href } from '../place.ts'
import { useJob } from '../use-job.ts'
import { DECISIONS } from '../words.ts'
import { AuditTable } from './audit.tsx'

/** States in which the dead letters may have it. */
const WITH_DEAD_LETTERS: readonly MessageRecord['state'][] = ['given-up', 'parked', 'absent']

/** One record of a message: its verdict, what can be done, what happened, and who decided what. */
export function RecordCard({
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
  const facts = factsOf(record).filter(([, value]) => value !== undefined && value !== '')
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
        {facts.length > 0 && (
          <section class="stack">
            <h2>Record</h2>
            <Facts of={facts} />
          </section>
        )}
      </div>
      {hasDeadLetter && <DeadLetters consumer={consumer} record={record} />}
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

/** As the broker has them: a store knows neither their place nor, where it was asked by a key, the idempotency key. */
function DeadLetters({ consumer, record }: { consumer: ConsumerInfo; record: MessageRecord }): JSX.Element {
  const work = useJob()
  const found = work.job?.kind === 'search' ? work.job.result : undefined
  const look = (): void => work.start(() => post('api/search', { consumers: [consumer.id], keys: [record.key] }))
  // A queue counts each reading as a delivery, so a person asks for it.
  useEffect(() => {
    if (consumer.system === 'kafka' && record.state !== 'absent') look()
  }, [])
  return (
    <section class="stack">
      <h2>Its dead letters</h2>
      {work.failure !== undefined && <Problem failure={work.failure} />}
      {work.isRunning ? (
        <SearchProgress work={work} />
      ) : found === undefined ? (
        <div class="row">
          <button type="button" onClick={look}>
            Look where its dead letter lies
          </button>
          {consumer.system === 'rabbitmq' && (
            <span class="small muted">The queue counts it as a delivery of each of its messages.</span>
          )}
        </div>
      ) : (
        <FoundLetters found={found} />
      )}
    </section>
  )
}

function FoundLetters({ found }: { found: SearchFound }): JSX.Element {
  const [problem] = found.problems
  if (problem !== undefined) return <Warnings of={[problem.message]} />
  const looked = found.looked.reduce((sum, one) => sum + one.looked, 0)
  const isAll = found.looked.every((one) => one.looked >= one.of)
  if (found.messages.length === 0) {
    return (
      <p class="muted">
        None: {isAll ? 'all' : 'the first'} {plural(looked, 'dead letter')} of this consumer looked at.
      </p>
    )
  }
  return (
    <>
      {found.messages.map((letter, at) => (
        <Facts
          key={at}
          of={[
            ['Place', <PlaceLink of={letter} />],
            ...(letter.id === undefined ? [] : [['Message ID', <span class="wrap">{letter.id}</span>] as const]),
            ...(letter.isConflict ? [['Conflict', 'another message with the same ID'] as const] : []),
            ['Set aside', <Time at={letter.since} />],
            ...(letter.by === undefined ? [] : [['By', <span class="wrap">{letter.by}</span>] as const]),
            ['Reason', letter.reason ?? 'unknown'],
            ...(letter.idempotencyKey === undefined
              ? []
              : [['Idempotency key', <Copyable text={letter.idempotencyKey} label="the idempotency key" />] as const]),
          ]}
        />
      ))}
    </>
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

function factsOf(record: MessageRecord): readonly (readonly [string, ComponentChildren])[] {
  const { attempt, maxAttempts, leaseLeftMs, fence } = record
  const { idempotencyKey } = record
  return [
    ['Reason', record.reason],
    ['Last error', record.cause],
    ['Attempts', attempt === undefined ? undefined : `${count(attempt)} of ${count(maxAttempts)}`],
    ['Since', timeOf(record.since)],
    ['Runs not before', timeOf(record.notBefore)],
    ['Lease left', leaseLeftMs === undefined ? undefined : duration(leaseLeftMs)],
    ['Fence', fence === undefined ? undefined : String(fence)],
    ['Kept until', timeOf(record.keepUntil)],
    ['Result', record.hasResult === true ? 'is kept for duplicates' : undefined],
    ['Found', record.found],
    [
      'Idempotency key',
      idempotencyKey === undefined || record.state === 'absent' ? undefined : (
        <Copyable text={idempotencyKey} label="the idempotency key" show={24} />
      ),
    ],
  ]
}

function timeOf(at: number | undefined): JSX.Element | undefined {
  return at === undefined ? undefined : <Time at={at} />
}
