import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { countText } from '../alarms.ts'
import type {
  ConsumerInfo,
  DecisionKind,
  GroupsAnswer,
  ListState,
  PreviewRequest,
  RecordRow,
  RecordsQuery,
  RecordView,
  SearchFound,
} from '../../api.ts'
import { post } from '../client.ts'
import { DecisionDialog } from '../components/decision.tsx'
import { SearchProgress } from '../components/found.tsx'
import { Loaded, Problem } from '../components/loaded.tsx'
import { Bar, Command, Empty, StateChip, Time, Warnings } from '../components/parts.tsx'
import { Head } from '../components/head.tsx'
import { RecordTable } from '../components/record-table.tsx'
import { Table } from '../components/table.tsx'
import { command } from '../../../src/people/command-text.ts'
import { useShared } from '../context.ts'
import { count, plural } from '../../format.ts'
import { useResource } from '../resource.ts'
import { useJob, type Work } from '../use-job.ts'
import { href } from '../place.ts'
import { go } from '../router.ts'
import { titleIn } from '../where.ts'
import { DECISIONS, LIST_NAMES, LISTS } from '../words.ts'

const PAGE = 100

/** The same list of all consumers: how many each has. */
export function RecordsOfAll({ state }: { state: ListState }): JSX.Element {
  const { session, counts } = useShared()
  return (
    <>
      <Head title={LISTS[state].title} about={`${LISTS[state].about} Choose a consumer.`} />
      <section class="card">
        <Loaded of={counts}>
          {({ consumers }) => (
            <Table
              caption={`${LISTS[state].title}, by consumer`}
              rows={consumers}
              keyOf={({ consumer }) => consumer}
              columns={[
                {
                  title: 'Consumer',
                  cell: ({ consumer }) => (
                    <a class="wrap" href={href(['records', state], { consumer })}>
                      {titleIn(session, consumer)}
                    </a>
                  ),
                },
                {
                  title: 'Messages',
                  isNumber: true,
                  cell: ({ counts: of, error }) =>
                    of !== undefined ? (
                      countText(of[state])
                    ) : (
                      <span class="muted">
                        {error === undefined ? 'keeps no records' : 'its store does not answer'}
                      </span>
                    ),
                },
              ]}
            />
          )}
        </Loaded>
      </section>
    </>
  )
}

export function Records({
  consumer,
  state,
  query,
}: {
  consumer: ConsumerInfo
  state: ListState
  query: URLSearchParams
}): JSX.Element {
  const reason = query.get('reason') ?? undefined
  const text = query.get('text') ?? undefined
  const id = query.get('id') ?? undefined
  return (
    <>
      <Head title={LISTS[state].title} about={LISTS[state].about} consumer={consumer} />
      <Tabs consumer={consumer} state={state} />
      {consumer.can.records ? (
        <List
          key={`${consumer.id} ${state} ${reason} ${text} ${id}`}
          consumer={consumer}
          state={state}
          reason={reason}
          text={text}
          id={id}
        />
      ) : (
        <section class="card">
          <Empty title="This consumer has no records">
            <p>Strategy offsets keeps one position for each partition. See the consumer.</p>
          </Empty>
        </section>
      )}
    </>
  )
}

function Tabs({ consumer, state }: { consumer: ConsumerInfo; state: ListState }): JSX.Element {
  const { counts } = useShared()
  const of = counts.data?.consumers.find((one) => one.consumer === consumer.id)?.counts
  return (
    <nav class="tabs" aria-label="States">
      {LIST_NAMES.map((name) => (
        <a
          key={name}
          href={href(['records', name], { consumer: consumer.id })}
          aria-current={name === state ? 'page' : undefined}
        >
          {LISTS[name].title} <span class="chip">{of === undefined ? '–' : countText(of[name])}</span>
        </a>
      ))}
    </nav>
  )
}

interface PageEnd {
  readonly next: string
  readonly looked: number
}

interface ListProps {
  readonly consumer: ConsumerInfo
  readonly state: ListState
  readonly reason: string | undefined
  readonly text: string | undefined
  readonly id: string | undefined
}

function List({ consumer, state, reason, text, id }: ListProps): JSX.Element {
  const { session, counts } = useShared()
  /** Ends of the pages that led here. */
  const [ends, setEnds] = useState<readonly PageEnd[]>([])
  const [chosen, choose] = useState<ReadonlySet<string>>(new Set())
  const [deciding, decide] = useState<PreviewRequest>()
  const after = ends.at(-1)?.next
  const filter = { ...(reason === undefined ? {} : { reason }), ...(text === undefined ? {} : { text }) }
  const asked: RecordsQuery = {
    consumer: consumer.id,
    state,
    limit: PAGE,
    ...filter,
    ...(id === undefined ? {} : { id }),
    ...(after === undefined ? {} : { after }),
  }
  const page = useResource('api/records', asked, 5_000)
  const groups = useResource('api/groups', { consumer: consumer.id, state }, 15_000)
  const decisions = session.readOnly ? [] : LISTS[state].decisions
  const looking = useJob()
  const letters = looking.job?.kind === 'search' ? looking.job.result : undefined
  const turn = (to: readonly PageEnd[]): void => {
    setEnds(to)
    choose(new Set())
  }
  const onDone = (): void => {
    decide(undefined)
    turn([])
    for (const resource of [page, groups, counts]) resource.refresh()
  }
  return (
    <div class="split">
      <aside class="card stack" aria-label="Reasons">
        <Loaded of={groups}>
          {(data) => <Groups data={data} state={state} consumer={consumer} reason={reason} />}
        </Loaded>
        <Filter
          label="Message ID"
          text={id}
          onFind={(found) => go(['records', state], { consumer: consumer.id, id: found })}
        />
        <Filter
          label="Text in reason or error"
          text={text}
          onFind={(found) => go(['records', state], { consumer: consumer.id, text: found })}
        />
      </aside>
      <section class="card">
        <Loaded of={page}>
          {({ records, looked, next, elsewhere }) =>
            elsewhere !== undefined ? (
              <Elsewhere consumer={consumer} id={id ?? ''} state={state} found={elsewhere} />
            ) : records.length === 0 && next === undefined && ends.length === 0 ? (
              <Empty title={reason === undefined && text === undefined ? 'Nothing here' : 'Nothing matches'}>
                <p>{LISTS[state].empty}</p>
                <Command text={command('inspect', consumer, session.consumers, `--${state}`)} />
              </Empty>
            ) : (
              <>
                {records.length > 0 && consumer.can.deadLetters && WITH_LETTERS.includes(state) && (
                  <Letters consumer={consumer} records={records} work={looking} found={letters} />
                )}
                <RecordTable
                  consumer={consumer}
                  state={state}
                  records={records}
                  letters={letters && new Map(letters.messages.map((one) => [one.key ?? '', one]))}
                  chosen={chosen}
                  onChoose={decisions.length === 0 ? undefined : choose}
                />
                {records.length === 0 && (
                  <p class="muted" role="status">
                    Looked at{' '}
                    {plural(
                      ends.reduce((sum, end) => sum + end.looked, looked),
                      'record',
                    )}
                    {next === undefined ? ', all there are; none here.' : ', none here; there is more to look at.'}
                  </p>
                )}
                <div class="actions">
                  <Decide
                    decisions={decisions}
                    chosen={chosen}
                    total={totalOf(groups.data, reason)}
                    isFiltered={reason !== undefined || text !== undefined}
                    isOne={id !== undefined}
                    onDecide={(decision, all) =>
                      decide({
                        consumer: consumer.id,
                        decision,
                        ...(all ? { matching: { state, ...filter } } : { keys: [...chosen] }),
                      })
                    }
                  />
                  <span class="grow" />
                  <button type="button" disabled={ends.length === 0} onClick={() => turn(ends.slice(0, -1))}>
                    Previous
                  </button>
                  <span class="muted">Page {ends.length + 1}</span>
                  <button
                    type="button"
                    disabled={next === undefined}
                    onClick={() => next !== undefined && turn([...ends, { next, looked }])}
                  >
                    {records.length === 0 ? 'Go on' : 'Next'}
                  </button>
                </div>
              </>
            )
          }
        </Loaded>
      </section>
      {deciding !== undefined && (
        <DecisionDialog request={deciding} onClose={() => decide(undefined)} onDone={onDone} />
      )}
    </div>
  )
}

/** States whose messages have a dead letter. */
const WITH_LETTERS: readonly ListState[] = ['given-up', 'parked']

/** A store knows neither the idempotency key nor, for a consumer with `logIds`, the ID: their dead letters have them. */
function Letters({
  consumer,
  records,
  work,
  found,
}: {
  consumer: ConsumerInfo
  records: readonly RecordRow[]
  work: Work
  found: SearchFound | undefined
}): JSX.Element {
  const keys = records.map(({ key }) => key)
  const has = new Set(found?.messages.map(({ key }) => key))
  return (
    <div class="row">
      {work.isRunning ? (
        <SearchProgress work={work} />
      ) : (
        (found === undefined || !keys.some((key) => has.has(key))) && (
          <>
            <button
              type="button"
              onClick={() => work.start(() => post('api/search', { consumers: [consumer.id], keys }))}
            >
              Look up their dead letters
            </button>
            <span class="small muted">
              {found === undefined
                ? `Tells where each lies, its idempotency key, and its ID if the consumer has logIds${consumer.system === 'rabbitmq' ? '. The queue counts it as a delivery of each of its messages' : ''}.`
                : 'No dead letter of these was found.'}
            </span>
          </>
        )
      )}
      {work.failure !== undefined && <Problem failure={work.failure} />}
      <Warnings of={(found?.problems ?? []).map(({ message }) => message)} />
    </div>
  )
}

function totalOf(groups: GroupsAnswer | undefined, reason: string | undefined): string {
  if (groups === undefined) return ''
  if (reason === undefined) return countText(groups.total)
  return count(groups.groups.find((group) => group.reason === reason)?.count ?? 0)
}

function Decide({
  decisions,
  chosen,
  total,
  isFiltered,
  isOne,
  onDecide,
}: {
  decisions: readonly DecisionKind[]
  chosen: ReadonlySet<string>
  total: string
  isFiltered: boolean
  /** The list is of one message: its row is chosen, or nothing. */
  isOne: boolean
  onDecide: (decision: DecisionKind, all: boolean) => void
}): JSX.Element | null {
  const [isAll, setAll] = useState(false)
  useEffect(() => setAll(false), [chosen])
  if (decisions.length === 0) return null
  return (
    <>
      <span role="status">{isAll ? `all ${total} chosen` : `${plural(chosen.size, 'message')} chosen`}</span>
      {!isOne && (
        <label class="check">
          <input type="checkbox" checked={isAll} onChange={(event) => setAll(event.currentTarget.checked)} />
          {isFiltered ? 'all that match' : 'all'}
        </label>
      )}
      {decisions.map((kind) => (
        <button
          key={kind}
          type="button"
          disabled={!isAll && chosen.size === 0}
          title={DECISIONS[kind].about}
          onClick={() => onDecide(kind, isAll)}
        >
          {DECISIONS[kind].title} …
        </button>
      ))}
    </>
  )
}

function Groups({
  data,
  state,
  consumer,
  reason,
}: {
  data: GroupsAnswer
  state: ListState
  consumer: ConsumerInfo
  reason: string | undefined
}): JSX.Element {
  const most = Math.max(1, ...data.groups.map((group) => group.count))
  return (
    <>
      <h2>{state === 'processing' || state === 'in-doubt' ? 'How many' : 'By reason'}</h2>
      <div class="groups">
        <button
          type="button"
          aria-pressed={reason === undefined}
          onClick={() => go(['records', state], { consumer: consumer.id })}
        >
          <span class="name">All</span>
          <b>{countText(data.total)}</b>
        </button>
        {data.groups
          .filter((group) => group.reason !== '')
          .map((group) => (
            <button
              key={group.reason}
              type="button"
              aria-pressed={reason === group.reason}
              onClick={() => go(['records', state], { consumer: consumer.id, reason: group.reason })}
            >
              <span class="name">{group.reason}</span>
              <b>{count(group.count)}</b>
              <Bar share={group.count / most} />
              <span class="small muted wrap">
                oldest <Time at={group.oldest} />
                {group.cause !== undefined && `: ${group.cause}`}
              </span>
            </button>
          ))}
      </div>
    </>
  )
}

/** The list has no row for an ID: its record is in another state, or there is none. */
function Elsewhere({
  consumer,
  id,
  state,
  found,
}: {
  consumer: ConsumerInfo
  id: string
  state: ListState
  found: RecordView['state']
}): JSX.Element {
  const there = LIST_NAMES.find((name) => name === found)
  return (
    <Empty title={`${id} is not in the list ${LISTS[state].title}`}>
      <p class="row">
        {found === 'absent' ? 'This consumer has no record of it.' : <StateChip state={found} />}
        {there !== undefined && <a href={href(['records', there], { consumer: consumer.id, id })}>Go to that list</a>}
        <a href={href(['message'], found === 'absent' ? { id } : { consumer: consumer.id, id })}>
          {found === 'absent' ? 'Look at all consumers' : 'Open the message'}
        </a>
      </p>
    </Empty>
  )
}

function Filter({
  label,
  text,
  onFind,
}: {
  label: string
  text: string | undefined
  onFind: (text: string) => void
}): JSX.Element {
  const [typed, setTyped] = useState(text ?? '')
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        onFind(typed)
      }}
    >
      <label>
        {label}
        <input type="search" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
      </label>
    </form>
  )
}
