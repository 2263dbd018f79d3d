import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { ConsumerInfo, DeadLettersFound, Meant, RedriveResult } from '../../api.ts'
import { plural } from '../../format.ts'
import { Chip, Command, Empty, KeyLink, Time, Warnings } from '../components/parts.tsx'
import { Shares, Table, type Column, type Share } from '../components/table.tsx'
import { useShared } from '../context.ts'
import { href } from '../place.ts'
import { REDRIVE_WORDS } from '../words.ts'
import { SameCommand, Selected } from './meant.tsx'
import { allowing, redriveOf } from './redrive-command.ts'
import { RedriveDialog } from './redrive-dialog.tsx'

export function Found({
  consumer,
  look,
  found,
  isAfterSending,
  onLook,
}: {
  consumer: ConsumerInfo
  look: string
  found: DeadLettersFound
  /** Some of them were sent back just before. */
  isAfterSending: boolean
  onLook: (only: Meant, sent?: RedriveResult) => void
}): JSX.Element {
  const { session } = useShared()
  const [isAsking, ask] = useState(false)
  const { only } = found
  const reasons = Object.entries(found.reasons).toSorted(([, a], [, b]) => b - a)
  const refused = Object.entries(found.refusedDestinations)
  const isSome = Object.keys(only).length > 0
  const isOne = only.id !== undefined || only.key !== undefined
  const meant = found.looked - (isSome ? found.totals.filtered : 0)
  const totals = Object.entries(found.totals).filter(([name, number]) => number > 0 && !(isSome && name === 'filtered'))
  if (meant === 0) return <None found={found} isAfterSending={isAfterSending} />
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
          text={redriveOf(consumer, session.consumers, only, '--treat-unknown-as handle --reason WHY')}
        />
      )}
      {refused.length > 0 && (
        <Command
          about={`${refused.map(([from, number]) => `${plural(number, 'dead letter')} from ${from}`).join(', ')}: this sends them back there`}
          text={redriveOf(consumer, session.consumers, only, `${allowing(found.refusedDestinations)} --reason WHY`)}
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
          onDone={(sent) => onLook(only, sent)}
        />
      )}
    </>
  )
}

/** A look that found nothing of what is meant. */
function None({
  found: { looked, only },
  isAfterSending,
}: {
  found: DeadLettersFound
  isAfterSending: boolean
}): JSX.Element {
  if (looked === 0) {
    return (
      <Empty title={isAfterSending ? 'No dead letter is left' : 'No dead letters'}>
        <p>Every message of this consumer was handled, is parked, or waits for a retry.</p>
      </Empty>
    )
  }
  const isOne = only.id !== undefined || only.key !== undefined
  const title = isOne ? 'It has no dead letter' : 'No dead letter is meant by that'
  return (
    <Empty title={isAfterSending ? 'None of this selection is left' : title}>
      <p>
        {plural(looked, 'dead letter')} of this consumer looked at, none {isOne ? 'of this message' : 'matches'}.
      </p>
    </Empty>
  )
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
