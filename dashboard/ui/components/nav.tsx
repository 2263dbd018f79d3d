import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { countText } from '../alarms.ts'
import type { GuaranteesAnswer, ListState } from '../../api.ts'
import { useShared } from '../context.ts'
import { href, type Route } from '../place.ts'
import { holderOf, sumOf } from '../where.ts'
import { LIST_NAMES, LISTS } from '../words.ts'

interface Of {
  /** `undefined`: of all. */
  readonly consumer: string | undefined
}

const ALARMING: readonly ListState[] = ['parked', 'in-doubt', 'given-up']

export function Nav({ route }: { route: Route }): JSX.Element {
  const { session, counts, guarantees } = useShared()
  const consumer = route.query.get('consumer') ?? undefined
  const [screen = 'overview', part] = route.path
  const box = useRef<HTMLElement>(null)
  // On a telephone it is one row that is wider than the window.
  useEffect(() => {
    const [nav, here] = [box.current, box.current?.querySelector<HTMLElement>('[aria-current]')]
    if (nav && here) nav.scrollLeft = here.offsetLeft - nav.offsetLeft - (nav.clientWidth - here.offsetWidth) / 2
  }, [screen, part])
  const broken = brokenOf(guarantees.data)
  const outboxes = session.consumers.filter(({ can }) => can.outbox).map(({ id }) => id)
  const withOutbox = outboxes.find((id) => id === consumer) ?? outboxes[0]
  const link = (
    path: readonly string[],
    title: string,
    pill?: JSX.Element | null,
    of: Of = { consumer },
  ): JSX.Element => {
    const isHere = path[0] === screen && (screen !== 'records' || path[1] === (part ?? 'parked'))
    return (
      <li key={title}>
        <a href={href(path, { ...of })} aria-current={isHere ? 'page' : undefined}>
          {title}
          {pill}
        </a>
      </li>
    )
  }
  return (
    <nav class="nav" aria-label="Pages" ref={box}>
      <div>
        <ul>
          {link(['overview'], 'Overview')}
          {link(['consumers'], 'Consumers')}
          {link(['message'], 'Find a message')}
          {link(['search'], 'Search')}
        </ul>
        <h2>Messages</h2>
        <ul>
          {LIST_NAMES.map((state) =>
            link(['records', state], LISTS[state].title, <Pill state={state} />, {
              consumer: holderOf(session, counts.data, state, consumer),
            }),
          )}
          {link(['dead-letters'], 'Dead letters')}
          {withOutbox !== undefined && link(['outbox'], 'Outbox', null, { consumer: withOutbox })}
        </ul>
        <h2>Work</h2>
        <ul>
          {link(['replays'], 'Replays')}
          {link(['audit'], 'Decisions')}
        </ul>
        <h2>Set-up</h2>
        <ul>
          {link(
            ['doctor'],
            'Guarantee',
            broken.length === 0 ? null : <span class="pill alarm">{broken.length} broken</span>,
            { consumer: consumer !== undefined && broken.includes(consumer) ? consumer : (broken[0] ?? consumer) },
          )}
          {link(['settings'], 'Settings')}
        </ul>
      </div>
    </nav>
  )
}

/** The consumers whose guarantee does not hold. */
function brokenOf(answer: GuaranteesAnswer | undefined): readonly string[] {
  return (answer?.consumers ?? []).flatMap(({ verdict, consumer }) => (verdict === 'broken' ? [consumer] : []))
}

/** How many of all consumers are in a state. */
function Pill({ state }: { state: ListState }): JSX.Element | null {
  const { counts } = useShared()
  const sum = sumOf(counts.data, state)
  if (sum.count === 0 && !sum.isAtLeast) return null
  return <span class={`pill ${ALARMING.includes(state) && sum.count > 0 ? 'alarm' : ''}`}>{countText(sum)}</span>
}
