import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { ConsumerInfo, DeadLettersFound, OneMessage } from '../../api.ts'
import { countText } from '../alarms.ts'
import { post } from '../client.ts'
import { command, isPlainId, quoted } from '../../../src/people/command-text.ts'
import { Dialog } from '../components/dialog.tsx'
import { confirmation, REASON } from '../components/form.tsx'
import { Problem } from '../components/loaded.tsx'
import { Chip, Command, Empty, KeyLink, Warnings } from '../components/parts.tsx'
import { Head } from '../components/head.tsx'
import { Shares, Table } from '../components/table.tsx'
import { useShared } from '../context.ts'
import { count, plural } from '../../format.ts'
import { useJob } from '../use-job.ts'
import { href } from '../place.ts'
import { REDRIVE_WORDS } from '../words.ts'

export function DeadLetters({ consumer, query }: { consumer: ConsumerInfo; query: URLSearchParams }): JSX.Element {
  const { session } = useShared()
  const work = useJob()
  const { job } = work
  const found = job?.kind === 'dead-letters' ? job.result : undefined
  const [id, key] = [query.get('id') ?? '', query.get('key') ?? '']
  const one = id === '' ? key : id
  const only: OneMessage = { ...(id === '' ? {} : { id }), ...(id === '' && key !== '' ? { key } : {}) }
  const look = (): void => work.start(() => post('api/dead-letters/look', { consumer: consumer.id, ...only }))
  // Whoever comes for one message wants to see it. A queue counts each reading as a delivery, so a person asks for it.
  useEffect(() => {
    if (one !== '' && consumer.can.deadLetters && consumer.system === 'kafka') look()
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
          <button type="button" class="primary" disabled={!consumer.can.deadLetters || work.isRunning} onClick={look}>
            {found === undefined ? 'Look at the dead letters' : 'Look again'}
          </button>
          {work.isRunning && <LookProgress work={work} />}
          {!consumer.can.deadLetters && consumer.deadLetters.length > 0 && (
            <span class="muted">
              This dashboard is read-only, and a queue counts each reading as a delivery: it is not read here.
            </span>
          )}
        </div>
        {work.failure !== undefined && <Problem failure={work.failure} />}
        {found === undefined && !work.isRunning && (
          <Empty title="What lies there, and why">
            <SetAside consumer={consumer} />
            <p>
              A look reads the dead letters, compares each with its record, and tells what would become of it: sent
              back, done already, parked, or left. No message is sent and no record changes
              {consumer.system === 'rabbitmq' && '; the queue counts it as a delivery of each'}.
            </p>
            <Command
              about="The same on the command line"
              text={command('redrive', consumer, session.consumers, '--dry-run')}
            />
          </Empty>
        )}
        {found !== undefined && <Found consumer={consumer} look={job?.id ?? ''} found={found} onDone={look} />}
      </section>
    </>
  )
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
  onDone,
}: {
  consumer: ConsumerInfo
  look: string
  found: DeadLettersFound
  onDone: () => void
}): JSX.Element {
  const { session } = useShared()
  const [isAsking, ask] = useState(false)
  const reasons = Object.entries(found.reasons).toSorted(([, a], [, b]) => b - a)
  const isOne = found.only.id !== undefined || found.only.key !== undefined
  const meant = found.looked - (isOne ? found.totals.filtered : 0)
  const totals = Object.entries(found.totals).filter(([name, number]) => number > 0 && !(isOne && name === 'filtered'))
  if (meant === 0 && isOne) {
    return (
      <Empty title="It has no dead letter">
        <p>{plural(found.looked, 'dead letter')} of this consumer looked at, none of this message.</p>
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
      <div class="columns">
        <Histogram
          title={`What would become of ${plural(meant, 'dead letter')}`}
          counts={totals.map(([name, number]) => [REDRIVE_WORDS[name] ?? name, number])}
        />
        {reasons.length > 0 && <Histogram title="Why those that can go back were set aside" counts={reasons} />}
      </div>
      <div class="row">
        {!session.readOnly && found.totals.redriven > 0 && (
          <button type="button" class="primary" onClick={() => ask(true)}>
            Send {plural(found.totals.redriven, 'dead letter')} back …
          </button>
        )}
        {consumer.can.plan && !isOne && (
          <a class="button" href={href(['replays', 'plan'], { consumer: consumer.id, from: consumer.deadLetters[0] })}>
            Plan a replay of them
          </a>
        )}
      </div>
      {found.totals.unknown > 0 && found.only.key === undefined && (
        <Command
          about="Those without a record may have been handled. If you know that they were not, this sends them back"
          text={handleUnknown(consumer, session.consumers, found.only)}
        />
      )}
      <h2>Sample</h2>
      <Table
        caption="Sample of the dead letters"
        rows={found.sample}
        keyOf={({ part, position }) => `${part} ${position}`}
        columns={[
          { title: 'Place', cell: ({ part, position }) => <span class="mono">{`${part} ${position}`}</span> },
          {
            title: 'Message',
            cell: ({ key }) => (key === undefined ? 'no usable ID' : <KeyLink of={key} consumer={consumer} />),
          },
          { title: 'Reason', cell: ({ reason }) => <span class="wrap">{reason ?? 'unknown'}</span> },
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
      {isAsking && (
        <RedriveDialog consumer={consumer} look={look} found={found} onClose={() => ask(false)} onDone={onDone} />
      )}
    </>
  )
}

function handleUnknown(consumer: ConsumerInfo, consumers: readonly ConsumerInfo[], { id }: OneMessage): string {
  const [before, ids] =
    id === undefined
      ? ['', '']
      : [`printf '%s\\n' ${quoted(id)} | `, `--ids-from - ${isPlainId(id) ? '' : '--raw-ids '}--yes `]
  return `${before}${command('redrive', consumer, consumers, `${ids}--treat-unknown-as handle --reason WHY`)}`
}

/** Each with its share of the largest. */
function Histogram({ title, counts }: { title: string; counts: readonly (readonly [string, number])[] }): JSX.Element {
  const most = Math.max(1, ...counts.map(([, number]) => number))
  const rows = counts.map(([name, number]) => ({ name, title: name, count: number, share: number / most }))
  return (
    <div class="stack">
      <h2>{title}</h2>
      <Shares caption={title} of="Which" rows={rows} />
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
