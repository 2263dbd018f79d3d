import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { BROKER_REASONS, DEAD_LETTER_REASONS } from '../../../src/core/after-claim.ts'
import type { ConsumerInfo, DeadLettersFound, Meant } from '../../api.ts'
import { countText } from '../alarms.ts'
import { post } from '../client.ts'
import { command, isPlainId, quoted } from '../../../src/people/command-text.ts'
import { Dialog } from '../components/dialog.tsx'
import { confirmation, Form, linesOf, REASON, type Field, type Values } from '../components/form.tsx'
import { Problem } from '../components/loaded.tsx'
import { Chip, Command, Empty, KeyLink, Time, Warnings } from '../components/parts.tsx'
import { Head } from '../components/head.tsx'
import { Shares, Table, type Column, type Share } from '../components/table.tsx'
import { useShared } from '../context.ts'
import { count, plural } from '../../format.ts'
import { useJob } from '../use-job.ts'
import { href } from '../place.ts'
import { REDRIVE_WORDS } from '../words.ts'

export function DeadLetters({ consumer, query }: { consumer: ConsumerInfo; query: URLSearchParams }): JSX.Element {
  const work = useJob()
  const { job } = work
  const found = job?.kind === 'dead-letters' ? job.result : undefined
  const [id, key] = [query.get('id') ?? '', query.get('key') ?? '']
  const one = id === '' ? key : id
  const ofOne: Meant = { ...(id === '' ? {} : { id }), ...(id === '' && key !== '' ? { key } : {}) }
  const [only, mean] = useState<Meant>(ofOne)
  const look = (meant: Meant): void => {
    mean(meant)
    work.start(() => post('api/dead-letters/look', { consumer: consumer.id, ...meant }))
  }
  // Whoever comes for one message wants to see it. A queue counts each reading as a delivery, so a person asks for it.
  useEffect(() => {
    if (one !== '' && consumer.can.deadLetters && consumer.system === 'kafka') look(ofOne)
  }, [])
  return (
    <>
      <Head
        title="Dead letters"
        about={consumer.deadLetters.join(', ') || 'This consumer has no dead-letter place'}
        consumer={consumer}
      />
      <section class="card stack">
        {one !== '' && (
          <p class="row wrap">
            <strong>Only those of message {one}</strong>
            <a href={href(['dead-letters'], { consumer: consumer.id })}>All dead letters</a>
          </p>
        )}
        <div class="row">
          <button
            type="button"
            class="primary"
            disabled={!consumer.can.deadLetters || work.isRunning}
            onClick={() => look(ofOne)}
          >
            {found === undefined ? 'Look at the dead letters' : one === '' ? 'Look at all of them' : 'Look again'}
          </button>
          {work.isRunning && (
            <>
              <LookProgress work={work} />
              <button type="button" onClick={work.stop}>
                Stop
              </button>
            </>
          )}
          {!consumer.can.deadLetters && consumer.deadLetters.length > 0 && (
            <span class="muted">
              This dashboard is read-only, and a queue counts each reading as a delivery: it is not read here.
            </span>
          )}
        </div>
        {one === '' && consumer.can.deadLetters && (
          <details>
            <summary>Only some of them</summary>
            <Form
              title="Only some of them"
              fields={SELECTION}
              submit="Look at these"
              isOff={work.isRunning}
              onSubmit={(typed) => look(meantBy(typed))}
            />
          </details>
        )}
        {work.failure !== undefined && <Problem failure={work.failure} />}
        {found === undefined && !work.isRunning && (
          <Empty title="What lies there, and why">
            <SetAside consumer={consumer} />
            <p>
              A look reads the dead letters, compares each with its record, and tells what would become of it: sent
              back, done already, parked, or left. No message is sent and no record changes
              {consumer.system === 'rabbitmq' && '; the queue counts it as a delivery of each'}.
            </p>
            <SameCommand consumer={consumer} only={only} />
          </Empty>
        )}
        {found !== undefined && <Found consumer={consumer} look={job?.id ?? ''} found={found} onLook={look} />}
      </section>
    </>
  )
}

/** What `consume-once redrive` selects by. */
const SELECTION: readonly Field[] = [
  {
    name: 'reason',
    label: 'Why they were set aside',
    kind: 'choice',
    choices: [['', 'any reason'], ...[...DEAD_LETTER_REASONS, ...BROKER_REASONS].map((one) => [one, one] as const)],
  },
  { name: 'key', label: 'Key, or idempotency key' },
  { name: 'since', label: 'Set aside since', kind: 'time' },
  { name: 'until', label: 'Set aside before', kind: 'time' },
  {
    name: 'where',
    label: 'Only where',
    hint: 'One condition a line, with = != ^= *= or |=. /tenant is a field of the payload. All must hold.',
    kind: 'lines',
    placeholder: '/tenant=acme or $message.header#/tenant=acme',
    isWide: true,
  },
]

function meantBy({ reason, key, since, until, where }: Values): Meant {
  const conditions = linesOf(where)
  return {
    ...(reason ? { reasons: [reason] } : {}),
    ...(key ? { key } : {}),
    ...(since ? { since: new Date(since).getTime() } : {}),
    ...(until ? { until: new Date(until).getTime() } : {}),
    ...(conditions.length > 0 ? { where: conditions } : {}),
  }
}

function SameCommand({ consumer, only }: { consumer: ConsumerInfo; only: Meant }): JSX.Element {
  const { session } = useShared()
  const [before, flags] = flagsOf(only)
  return (
    <Command
      about="The same on the command line"
      text={`${before}${command('redrive', consumer, session.consumers, `${flags}--dry-run`)}`}
    />
  )
}

/** What is before the command, and the options that select the same. */
function flagsOf({ id, key, since, until, where = [], reasons = [] }: Meant): readonly [before: string, flags: string] {
  const flags = [
    ...(id === undefined ? [] : [`--ids-from -${isPlainId(id) ? '' : ' --raw-ids'}`]),
    ...(key === undefined ? [] : [`--key=${key}`]),
    ...reasons.map((reason) => `--reason-is ${quoted(reason)}`),
    ...(since === undefined ? [] : [`--since ${new Date(since).toISOString()}`]),
    ...(until === undefined ? [] : [`--until ${new Date(until).toISOString()}`]),
    ...where.map((condition) => `--where ${quoted(condition)}`),
  ]
  return [id === undefined ? '' : `printf '%s\\n' ${quoted(id)} | `, flags.map((flag) => `${flag} `).join('')]
}

/** What the records tell of the dead letters, without a look at the broker. */
function SetAside({ consumer }: { consumer: ConsumerInfo }): JSX.Element | null {
  const { counts } = useShared()
  const found = counts.data?.consumers.find((one) => one.consumer === consumer.id)?.counts
  if (found === undefined || consumer.deadLetters.length === 0) return null
  return (
    <p>
      By the records,{' '}
      <a href={href(['records', 'given-up'], { consumer: consumer.id })}>{countText(found['given-up'])} given up</a> and{' '}
      <a href={href(['records', 'parked'], { consumer: consumer.id })}>{countText(found.parked)} parked</a>: the dead
      letters have a copy of each. They also have messages without a record of their own, such as conflicts and those
      without a usable ID.
    </p>
  )
}

function LookProgress({ work }: { work: ReturnType<typeof useJob> }): JSX.Element {
  const progress = work.job?.kind === 'dead-letters' || work.job?.kind === 'redrive' ? work.job.progress : undefined
  return (
    <span role="status">
      {progress === undefined ? 'Reading …' : `${count(progress.looked)} of ${count(progress.of)} read`}
    </span>
  )
}

function Found({
  consumer,
  look,
  found,
  onLook,
}: {
  consumer: ConsumerInfo
  look: string
  found: DeadLettersFound
  onLook: (only: Meant) => void
}): JSX.Element {
  const { session } = useShared()
  const [isAsking, ask] = useState(false)
  const { only } = found
  const reasons = Object.entries(found.reasons).toSorted(([, a], [, b]) => b - a)
  const isSome = Object.keys(only).length > 0
  const isOne = only.id !== undefined || only.key !== undefined
  const meant = found.looked - (isSome ? found.totals.filtered : 0)
  const totals = Object.entries(found.totals).filter(([name, number]) => number > 0 && !(isSome && name === 'filtered'))
  if (meant === 0 && isSome) {
    return (
      <Empty title={isOne ? 'It has no dead letter' : 'No dead letter is meant by that'}>
        <p>
          {plural(found.looked, 'dead letter')} of this consumer looked at, none {isOne ? 'of this message' : 'matches'}
          .
        </p>
      </Empty>
    )
  }
  if (found.looked === 0) {
    return (
      <Empty title="No dead letters">
        <p>Every message of this consumer was handled, is parked, or waits for a retry.</p>
      </Empty>
    )
  }
  return (
    <>
      <Warnings of={found.warnings} />
      {found.stopped && <Warnings of={['It was stopped before it had seen all of them.']} />}
      {isSome && !isOne && <Selected only={only} />}
      <div class="columns">
        <Histogram
          title={`What would become of ${plural(meant, 'dead letter')}`}
          counts={totals.map(([name, number]) => [REDRIVE_WORDS[name] ?? name, number])}
        />
        {reasons.length > 0 && (
          <Histogram
            title="Why those that can go back were set aside"
            counts={reasons}
            onOnly={only.reasons === undefined ? (reason) => onLook({ ...only, reasons: [reason] }) : undefined}
          />
        )}
      </div>
      <div class="row">
        {!session.readOnly && found.totals.redriven > 0 && (
          <button type="button" class="primary" onClick={() => ask(true)}>
            Send {plural(found.totals.redriven, 'dead letter')} back …
          </button>
        )}
        {consumer.can.plan && !isSome && (
          <a class="button" href={href(['replays', 'plan'], { consumer: consumer.id, from: consumer.deadLetters[0] })}>
            Plan a replay of them
          </a>
        )}
      </div>
      {found.totals.unknown > 0 && found.only.key === undefined && (
        <Command
          about="Those without a record may have been handled. If you know that they were not, this sends them back"
          text={handleUnknown(consumer, session.consumers, only)}
        />
      )}
      <h2>Sample</h2>
      <Table
        caption="Sample of the dead letters"
        rows={found.sample}
        keyOf={({ part, position }) => `${part} ${position}`}
        columns={[
          {
            title: 'Message',
            cell: ({ key, id }) =>
              key === undefined ? 'no usable ID' : <KeyLink of={key} id={id} consumer={consumer} />,
          },
          {
            title: 'Place',
            cell: ({ part, position }) =>
              consumer.can.place ? (
                <a class="mono" href={href(['message'], { consumer: consumer.id, at: `${part}/${position}` })}>
                  {`${part}/${position}`}
                </a>
              ) : (
                <span class="mono">{part}</span>
              ),
          },
          { title: 'Reason', cell: ({ reason }) => <span class="wrap">{reason ?? 'unknown'}</span> },
          { title: 'Set aside', cell: ({ since }) => <Time at={since} /> },
          { title: 'By', cell: ({ setAsideBy }) => <span class="wrap">{setAsideBy ?? '–'}</span> },
          {
            title: 'Now',
            cell: ({ outcome }) => (
              <Chip tone={outcome === 'redriven' ? 'good' : 'none'}>
                {outcome === 'redriven' ? 'can go back' : outcome}
              </Chip>
            ),
          },
          { title: 'Would go to', cell: ({ destination }) => destination ?? '–' },
        ]}
      />
      <SameCommand consumer={consumer} only={only} />
      {isAsking && (
        <RedriveDialog
          consumer={consumer}
          look={look}
          found={found}
          onClose={() => ask(false)}
          onDone={() => onLook(only)}
        />
      )}
    </>
  )
}

/** What the person asked for, in words. */
function Selected({ only }: { only: Meant }): JSX.Element {
  const { since, until, where = [], reasons = [] } = only
  return (
    <p class="row wrap">
      <strong>Only those</strong>
      {reasons.length > 0 && <span>set aside as {reasons.join(', ')}</span>}
      {since !== undefined && (
        <span>
          since <Time at={since} />
        </span>
      )}
      {until !== undefined && (
        <span>
          before <Time at={until} />
        </span>
      )}
      {where.map((condition) => (
        <code key={condition}>{condition}</code>
      ))}
    </p>
  )
}

function handleUnknown(consumer: ConsumerInfo, consumers: readonly ConsumerInfo[], only: Meant): string {
  const [before, flags] = flagsOf(only)
  const yes = only.id === undefined ? '' : '--yes '
  return `${before}${command('redrive', consumer, consumers, `${flags}${yes}--treat-unknown-as handle --reason WHY`)}`
}

/** Each with its share of the largest. */
function Histogram({
  title,
  counts,
  onOnly,
}: {
  title: string
  counts: readonly (readonly [string, number])[]
  /** Looks at one of them alone. */
  onOnly?: ((name: string) => void) | undefined
}): JSX.Element {
  const most = Math.max(1, ...counts.map(([, number]) => number))
  const rows = counts.map(([name, number]) => ({ name, title: name, count: number, share: number / most }))
  const more: readonly Column<Share>[] =
    onOnly === undefined || counts.length < 2
      ? []
      : [
          {
            title: 'Look',
            cell: ({ name }) => (
              <button type="button" class="plain" onClick={() => onOnly(name)}>
                only {name}
              </button>
            ),
          },
        ]
  return (
    <div class="stack">
      <h2>{title}</h2>
      <Shares caption={title} of="Which" rows={rows} more={more} />
    </div>
  )
}

function RedriveDialog({
  consumer,
  look,
  found,
  onClose,
  onDone,
}: {
  consumer: ConsumerInfo
  look: string
  found: DeadLettersFound
  onClose: () => void
  onDone: () => void
}): JSX.Element {
  const { say } = useShared()
  const work = useJob((job) => {
    if (job.kind !== 'redrive' || job.result === undefined) return
    say(`${plural(job.result.totals.redriven, 'dead letter')} sent back.`)
    onClose()
    onDone()
  })
  const number = found.totals.redriven
  return (
    <Dialog
      title="Send dead letters back"
      fields={[REASON, confirmation(number)]}
      submit="Send back"
      isOff={work.isRunning}
      failure={work.failure}
      onClose={onClose}
      onSubmit={({ reason = '' }) =>
        work.start(() => post('api/dead-letters/redrive', { consumer: consumer.id, look, reason, confirm: number }))
      }
    >
      <p>
        Each is published where it came from ({Object.keys(found.destinations).join(', ')}), confirmed, and runs at its
        next delivery. What is done or parked by then is left.
      </p>
      {work.isRunning && (
        <p class="row">
          <LookProgress work={work} />
          <a href={href(['replays', found.id], { consumer: consumer.id })}>Pause or abort it</a>
        </p>
      )}
    </Dialog>
  )
}
