import type { JSX } from 'preact'
import type { SearchedMessage, SearchFound } from '../../api.ts'
import { count, plural } from '../../format.ts'
import { consumerOf, useShared } from '../context.ts'
import { href } from '../place.ts'
import type { Work } from '../use-job.ts'
import { titleIn } from '../where.ts'
import { Chip, Copyable, KeyLink, StateChip, Time, Warnings } from './parts.tsx'
import { Table } from './table.tsx'

/** How far a search has come, and the button that ends it. */
export function SearchProgress({ work }: { work: Work }): JSX.Element {
  const progress = work.job?.kind === 'search' ? work.job.progress : undefined
  return (
    <p class="row">
      <span role="status">
        {progress === undefined
          ? 'Searching …'
          : `${count(progress.looked)} looked at, ${count(progress.found)} found; place ${Math.min(progress.places + 1, progress.ofPlaces)} of ${progress.ofPlaces}: ${progress.from}`}
      </span>
      <button type="button" disabled={progress === undefined} onClick={work.stop}>
        Stop
      </button>
    </p>
  )
}

export function FoundMessages({ found }: { found: SearchFound }): JSX.Element {
  const { session } = useShared()
  const title = (id: string): string => titleIn(session, id)
  return (
    <>
      <h2>
        {plural(found.messages.length, 'message')} found{found.stopped && ' until it was stopped'}
      </h2>
      {found.problems.map(({ consumer, code, message }, at) => (
        <div key={`${consumer} ${at}`} class="notice alarm">
          <strong>{title(consumer)} was not searched</strong>
          <p class="wrap">
            {message} ({code})
          </p>
        </div>
      ))}
      {found.messages.length > 0 && (
        <Table
          caption="Messages that were found"
          rows={found.messages}
          keyOf={({ from, at }, index) => `${from} ${at ?? ''} ${index}`}
          columns={[
            { title: 'Message', cell: (one) => <MessageLink of={one} /> },
            { title: 'Consumer', cell: ({ consumer }) => <span class="wrap">{title(consumer)}</span> },
            { title: 'Place', cell: (one) => <PlaceLink of={one} /> },
            {
              title: 'State',
              cell: ({ state, isConflict }) => (
                <>
                  {isConflict && <Chip tone="alarm">Conflict</Chip>}
                  {state === undefined ? '–' : <StateChip state={state} />}
                </>
              ),
            },
            { title: 'Reason', cell: ({ reason }) => reason ?? '–' },
            { title: 'Since', cell: ({ since }) => <Time at={since} /> },
            { title: 'Set aside by', cell: ({ by }) => <span class="wrap">{by ?? '–'}</span> },
            {
              title: 'Idempotency key',
              cell: ({ idempotencyKey: key }) =>
                key === undefined ? '–' : <Copyable text={key} label="the idempotency key" show={12} />,
            },
          ]}
        />
      )}
      <ul class="small muted">
        {found.looked.map(({ consumer, from, looked, of, lacking }) => (
          <li key={`${consumer} ${from}`} class="wrap">
            {from}: {looked < of ? `the first ${count(looked)} of ${plural(of, 'message')}` : plural(looked, 'message')}{' '}
            looked at
            {lacking > 0 &&
              `; ${plural(lacking, 'lacks', 'lack')} a field or a time to select by, or cannot be decoded`}
            {looked < of && '. The rest was not looked at: give a time to begin at'}
          </li>
        ))}
      </ul>
      <Warnings of={[...new Set(found.looked.flatMap(({ warnings }) => warnings))]} />
      <Warnings of={found.unnoted.map((why) => `The audit does not have this search. ${why}`)} />
    </>
  )
}

function MessageLink({ of: { key, id, consumer, at } }: { of: SearchedMessage }): JSX.Element {
  const { session } = useShared()
  if (key !== undefined) return <KeyLink of={key} id={id} consumer={{ id: consumer }} />
  const canOpen = at !== undefined && consumerOf(session, consumer)?.can.place === true
  return canOpen ? <a href={href(['message'], { consumer, at })}>no usable ID</a> : <>no usable ID</>
}

/** Where it lies: on Kafka a link to the message as the broker has it. */
export function PlaceLink({ of: { at, from, consumer } }: { of: SearchedMessage }): JSX.Element {
  const { session } = useShared()
  if (at === undefined || consumerOf(session, consumer)?.can.place !== true) {
    return <span class="mono wrap">{at ?? from}</span>
  }
  return (
    <a class="mono wrap" href={href(['message'], { consumer, at })}>
      {at}
    </a>
  )
}
