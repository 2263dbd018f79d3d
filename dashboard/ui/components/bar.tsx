import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { consumerOf, useNow, useShared } from '../context.ts'
import { freshnessOf } from '../freshness.ts'
import { href, readerOf } from '../place.ts'
import { go, useRoute } from '../router.ts'

/** Name, environment, a field to find a message, whether what is shown is live, and the theme. */
export function Bar({ onTheme }: { onTheme: () => void }): JSX.Element {
  const { session, theme } = useShared()
  return (
    <header class="bar">
      <a class="brand" href={href(['overview'])}>
        <img src={icon()} alt="" />
        consume-once
      </a>
      {session.environment !== undefined && (
        <span class="badge" style={{ '--badge': session.environment.color }} title="Environment">
          {session.environment.name}
        </span>
      )}
      {session.readOnly && <span class="chip">read-only</span>}
      <Find />
      <div class="row end">
        <Liveness />
        <button
          type="button"
          class="plain icon"
          aria-label={theme === 'dark' ? 'Light colours' : 'Dark colours'}
          title={theme === 'dark' ? 'Light colours' : 'Dark colours'}
          onClick={onTheme}
        >
          <svg
            width="18"
            height="18"
            viewBox="0 0 24 24"
            fill="none"
            stroke="currentColor"
            stroke-width="2"
            aria-hidden="true"
          >
            {theme === 'dark' ? (
              <path d="M12 4V2m0 20v-2m8-8h2M2 12h2m13.7-5.7 1.4-1.4M4.9 19.1l1.4-1.4m11.4 0 1.4 1.4M4.9 4.9l1.4 1.4M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8z" />
            ) : (
              <path d="M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z" />
            )}
          </svg>
        </button>
      </div>
    </header>
  )
}

/** The address of the icon, whose name has a hash. */
function icon(): string {
  return document.querySelector<HTMLLinkElement>('link[rel=icon]')?.href ?? ''
}

function Find(): JSX.Element {
  const { session } = useShared()
  const { query } = useRoute()
  const [text, setText] = useState('')
  return (
    <form
      class="find"
      role="search"
      aria-label="Find a message by its ID"
      onSubmit={(event) => {
        event.preventDefault()
        if (text === '') return
        const consumer = consumerOf(session, query.get('consumer'))
        const reader = readerOf(text, consumer === undefined ? session.consumers : [consumer, ...session.consumers])
        go(['message'], reader === undefined ? { id: text } : { consumer: reader.id, at: text })
        setText('')
      }}
    >
      <input
        type="search"
        aria-label="Message ID, or topic/partition/offset"
        placeholder="Find a message by its ID or place"
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
    </form>
  )
}

function Liveness(): JSX.Element {
  const { session, clockOffset, live, counts } = useShared()
  const now = useNow()
  const { tone, text, about } = freshnessOf({ session, live, counts, now, clockOffset })
  return (
    <span class="status" title={about}>
      <span class={`dot ${tone}`} aria-hidden="true" />
      {text}
    </span>
  )
}
