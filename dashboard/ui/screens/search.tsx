import type { JSX } from 'preact'
import type { ConsumerInfo, SearchRequest } from '../../api.ts'
import { post } from '../client.ts'
import { Form, linesOf, type Field, type Values } from '../components/form.tsx'
import { FoundMessages, SearchProgress } from '../components/found.tsx'
import { Head } from '../components/head.tsx'
import { Empty } from '../components/parts.tsx'
import { useShared } from '../context.ts'
import { useJob } from '../use-job.ts'
import { titleIn } from '../where.ts'

const ABOUT = 'Finds messages by a part of them, in dead letters and topics'
const DAY_MS = 86_400_000

/** What `consume-once find` has, too. */
function fieldsOf(
  consumers: readonly ConsumerInfo[],
  titleOf: (id: string) => string,
  { text, where }: { readonly text: string; readonly where: string },
): readonly Field[] {
  const hasTopics = consumers.some(({ system }) => system === 'kafka')
  return [
    {
      name: 'text',
      label: 'Text',
      hint: 'Anywhere in the payload, a header or the key, as it is written there.',
      value: text,
      placeholder: '4711',
    },
    {
      name: 'consumer',
      label: 'Consumer',
      kind: 'choice',
      choices: [['', 'all'], ...consumers.map(({ id }) => [id, titleOf(id)] as const)],
    },
    {
      name: 'where',
      label: 'Only where',
      hint: 'One condition a line, with = != ^= *= or |=. /orderId is a field of the payload. All must hold.',
      kind: 'lines',
      value: where,
      placeholder: '/orderId=4711 or $message.header#/tenant=acme',
      isWide: true,
    },
    { name: 'since', label: 'Arrived since', kind: 'time' },
    { name: 'until', label: 'Arrived before', kind: 'time' },
    ...(hasTopics
      ? ([
          {
            name: 'topics',
            label: 'The Kafka topics, too: of the last 24 hours, or since the time above',
            kind: 'check',
            isWide: true,
          },
        ] as const)
      : []),
    {
      name: 'max',
      label: 'Look at most at',
      hint: 'Messages of each place, at most 100,000.',
      kind: 'number',
      placeholder: '100000',
      isRare: true,
    },
  ]
}

export function Search({ query }: { query: URLSearchParams }): JSX.Element {
  const { session, clockOffset } = useShared()
  const work = useJob()
  const consumers = session.consumers.filter(({ can, deadLetters, system }) => {
    return can.records && (deadLetters.length > 0 || system === 'kafka')
  })
  const found = work.job?.kind === 'search' ? work.job.result : undefined
  const hasQueue = consumers.some(({ system }) => system === 'rabbitmq')
  const given = { text: query.get('text') ?? '', where: query.getAll('where').join('\n') }
  return (
    <>
      <Head title="Search" about={ABOUT} />
      {consumers.length === 0 ? (
        <Empty title="No consumer has a place that can be searched" />
      ) : (
        <Form
          class="card"
          fields={fieldsOf(consumers, (id) => titleIn(session, id), given)}
          submit="Search"
          isOff={work.isRunning}
          failure={work.failure}
          onSubmit={(typed) => work.start(() => post('api/search', requestOf(typed, Date.now() + clockOffset)))}
        >
          <p class="small muted">
            No payload is shown, and a message ID only of a consumer with logIds. A search is in the audit of each
            consumer: who searched, and by which fields, without what was searched for.
            {hasQueue &&
              (session.readOnly
                ? ' Queues are left out: this dashboard is read-only, and a queue counts each reading as a delivery.'
                : ' A queue counts it as a delivery of each message, which is handed back.')}
          </p>
        </Form>
      )}
      {(work.isRunning || found !== undefined) && (
        <section class="card stack" aria-label="What was found">
          {work.isRunning && <SearchProgress work={work} />}
          {found !== undefined && <FoundMessages found={found} />}
        </section>
      )}
    </>
  )
}

function requestOf({ text, consumer, where, since, until, topics, max }: Values, now: number): SearchRequest {
  const conditions = linesOf(where)
  return {
    ...(text ? { text } : {}),
    ...(conditions.length > 0 ? { where: conditions } : {}),
    ...(consumer ? { consumers: [consumer] } : {}),
    ...(since ? { since: new Date(since).getTime() } : topics ? { since: now - DAY_MS } : {}),
    ...(until ? { until: new Date(until).getTime() } : {}),
    ...(topics ? { topics: true } : {}),
    ...(max ? { max: Number(max) } : {}),
  }
}
