import type { JSX } from 'preact'
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { ConsumerInfo, ListState, SessionInfo } from '../api.ts'
import { session as askSession, type Failure } from './client.ts'
import { Bar } from './components/bar.tsx'
import { Empty } from './components/parts.tsx'
import { Nav } from './components/nav.tsx'
import { consumerOf, SharedContext, type Shared } from './context.ts'
import { asFailure, nextIn, useResource } from './resource.ts'
import { type Route } from './place.ts'
import { useRoute } from './router.ts'
import { Audit } from './screens/audit.tsx'
import { Consumers } from './screens/consumers.tsx'
import { DeadLetters } from './screens/dead-letters.tsx'
import { Doctor } from './screens/doctor.tsx'
import { Message } from './screens/message.tsx'
import { Outbox } from './screens/outbox.tsx'
import { Overview } from './screens/overview.tsx'
import { Plan } from './screens/plan.tsx'
import { Records, RecordsOfAll } from './screens/records.tsx'
import { Replay } from './screens/replay.tsx'
import { Replays } from './screens/replays.tsx'
import { Search } from './screens/search.tsx'
import { Settings } from './screens/settings.tsx'
import { useTheme } from './theme.ts'
import { LIST_NAMES, LISTS } from './words.ts'

const LIVE_MS = 2_000
const COUNTS_MS = 5_000
/** It asks the servers of all consumers. */
const GUARANTEES_MS = 60_000
const TOAST_MS = 5_000

/** Asks who this is, until there is an answer. */
export function App(): JSX.Element {
  const [found, setFound] = useState<{ readonly session: SessionInfo; readonly clockOffset: number }>()
  const [failure, setFailure] = useState<Failure>()
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    let failures = 0
    const ask = async (): Promise<void> => {
      try {
        const session = await askSession()
        setFound({ session, clockOffset: session.now - Date.now() })
      } catch (error) {
        setFailure(asFailure(error))
        failures++
        timer = setTimeout(() => void ask(), nextIn(undefined, failures, undefined))
      }
    }
    void ask()
    return () => clearTimeout(timer)
  }, [])
  if (found !== undefined) return <Dashboard {...found} />
  return (
    <main>
      <h1>consume-once</h1>
      {failure === undefined ? (
        <Empty title="Loading …" />
      ) : (
        <div class="notice">
          <strong>{failure.status === 401 ? 'Not allowed' : 'No answer'}</strong>
          <p class="wrap">{failure.message} This page asks again by itself.</p>
        </div>
      )}
    </main>
  )
}

function Dashboard({ session, clockOffset }: { session: SessionInfo; clockOffset: number }): JSX.Element {
  const route = useRoute()
  const [theme, switchTheme] = useTheme()
  const live = useResource('api/live', session.hasLive ? {} : undefined, LIVE_MS)
  const counts = useResource('api/counts', {}, COUNTS_MS)
  const guarantees = useResource('api/guarantees', {}, GUARANTEES_MS)
  const hasOutbox = session.consumers.some(({ can }) => can.outbox)
  const outboxes = useResource('api/outboxes', hasOutbox ? {} : undefined, COUNTS_MS)
  const [said, setSaid] = useState('')
  const [told, tell] = useState('')
  const main = useRef<HTMLElement>(null)
  const say = useCallback((text: string) => setSaid(text), [])
  useEffect(() => {
    const timer = setTimeout(() => setSaid(''), TOAST_MS)
    return () => clearTimeout(timer)
  }, [said])

  const place = route.path.join('/')
  const isFirst = useRef(true)
  useEffect(() => {
    document.title = `${titleOf(route)} · consume-once`
    // A new screen begins at its top, also for those who listen to it.
    if (!isFirst.current) {
      main.current?.focus({ preventScroll: true })
      window.scrollTo(0, 0)
    }
    isFirst.current = false
  }, [place])

  const shared = useMemo<Shared>(
    () => ({ session, clockOffset, live, counts, guarantees, outboxes, theme, say, tell }),
    [session, clockOffset, live.data, live.failure, counts.data, counts.failure, guarantees.data, outboxes.data, theme],
  )
  return (
    <SharedContext.Provider value={shared}>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault()
          main.current?.focus()
        }}
      >
        Skip to the content
      </a>
      <div class="shell">
        <Bar onTheme={switchTheme} />
        <Nav route={route} />
        <main id="main" ref={main} tabIndex={-1}>
          <Screen route={route} session={session} />
        </main>
      </div>
      <div class="visually-hidden" role="status">
        {told}
      </div>
      <div class={said === '' ? 'visually-hidden' : 'toast'} role="status">
        {said}
      </div>
    </SharedContext.Provider>
  )
}

function Screen({ route, session }: { route: Route; session: SessionInfo }): JSX.Element {
  const { path, query } = route
  const asked = query.get('consumer')
  const consumer: ConsumerInfo | undefined = asked === null ? session.consumers[0] : consumerOf(session, asked)
  const [screen = 'overview', part] = path
  if (screen === 'overview') return <Overview />
  if (screen === 'consumers') return <Consumers />
  if (screen === 'search') return <Search key={query.toString()} query={query} />
  if (screen === 'audit' && (asked === null || consumer !== undefined)) {
    return <Audit consumer={asked === null && session.consumers.length > 1 ? undefined : consumer} />
  }
  const state = LIST_NAMES.find((one) => one === part) ?? 'parked'
  if (screen === 'records' && asked === null && session.consumers.length > 1) return <RecordsOfAll state={state} />
  if (consumer === undefined) {
    return (
      <Empty title="No such consumer">
        <p class="wrap">
          {asked === null
            ? 'The config of this dashboard has none.'
            : `The config of this dashboard does not have ${asked}.`}
        </p>
      </Empty>
    )
  }
  switch (screen) {
    case 'message':
      return <Message consumer={consumer} isGiven={asked !== null} query={query} />
    case 'records':
      return <Records consumer={consumer} state={state} query={query} />
    case 'dead-letters':
      return <DeadLetters key={query.toString()} consumer={consumer} query={query} />
    case 'outbox':
      return <Outbox key={consumer.id} consumer={consumer} />
    case 'replays':
      if (part === 'plan') return <Plan key={consumer.id} consumer={consumer} query={query} />
      return part === undefined ? <Replays consumer={consumer} /> : <Replay key={part} consumer={consumer} id={part} />
    case 'doctor':
      return <Doctor consumer={consumer} />
    case 'settings':
      return <Settings consumer={consumer} />
    default:
      return <Empty title="There is no such page" />
  }
}

const TITLES: Readonly<Record<string, string>> = {
  consumers: 'Consumers',
  message: 'Message',
  search: 'Search',
  'dead-letters': 'Dead letters',
  outbox: 'Outbox',
  replays: 'Replays',
  audit: 'Decisions',
  doctor: 'Guarantee',
  settings: 'Settings',
}

function titleOf({ path: [screen = 'overview', part] }: Route): string {
  if (screen === 'records') return LISTS[part as ListState]?.title ?? 'Records'
  return TITLES[screen] ?? 'Overview'
}
