import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { useNow, useShared } from '../context.ts'
import { freshnessOf } from '../freshness.ts'
import { href } from '../place.ts'
import { go } from '../router.ts'

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

/** A condition on a field, such as `/orderId=4711`, instead of what names a message. */
const CONDITION = /^(?:\/|\$message\.)[^=]*=/

function Find(): JSX.Element {
  const [text, setText] = useState('')
  return (
    <form
      class="find"
      role="search"
      aria-label="Find a message"
      onSubmit={(event) => {
        event.preventDefault()
        const given = text.trim()
        if (given === '') return
        if (CONDITION.test(given)) go(['search'], { where: given })
        // An ID may begin with a blank.
        else go(['message'], { id: text })
        setText('')
      }}
    >
      <input
        type="search"
        aria-label="Message ID, key, idempotency key, place, or a condition such as /orderId=4711"
        placeholder="ID, key, place, or /orderId=4711"
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
