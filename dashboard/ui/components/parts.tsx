import type { ComponentChildren, JSX } from 'preact'
import { useState } from 'preact/hooks'
import { MEANING } from '../../../src/people/meaning.ts'
import type { ConsumerInfo, Outcome, RecordView } from '../../api.ts'
import { useNow } from '../context.ts'
import { exact, relative, zone } from '../../format.ts'
import { href } from '../place.ts'
import { OUTCOMES, STATES, type Tone } from '../words.ts'

/** Fills an element with the colour of an outcome, a step or a share, which tokens.css names. */
export function fill(name: string, others = ''): { readonly class: string; readonly style: Record<string, string> } {
  return { class: `fill ${others}`, style: { '--fill': `var(--fill-${name})` } }
}

export function Chip({
  tone,
  children,
  title,
}: {
  tone: Tone
  children: ComponentChildren
  title?: string
}): JSX.Element {
  return (
    <span class={`chip ${tone}`} title={title}>
      <span class={`dot ${tone}`} aria-hidden="true" />
      {children}
    </span>
  )
}

export function StateChip({ state }: { state: RecordView['state'] }): JSX.Element {
  const { tone, title } = STATES[state]
  return (
    <Chip tone={tone} title={MEANING[state]}>
      {title}
    </Chip>
  )
}

export function OutcomeChip({ outcome }: { outcome: Outcome }): JSX.Element {
  const word = OUTCOMES[outcome]
  return (
    <span class="chip" title={word?.about}>
      <span {...fill(outcome, 'swatch')} aria-hidden="true" />
      {word?.title ?? outcome}
    </span>
  )
}

/** A time, relative to now; the exact one on hover and for a screen reader. */
export function Time({ at }: { at: number | undefined }): JSX.Element {
  const now = useNow()
  if (at === undefined) return <span class="muted">unknown</span>
  return (
    <time dateTime={new Date(at).toISOString()} title={`${exact(at)} ${zone(at)}`}>
      {relative(at, now)}
    </time>
  )
}

export function Copy({ text, label }: { text: string; label: string }): JSX.Element {
  const [isCopied, setCopied] = useState(false)
  const copy = async (): Promise<void> => {
    await copyText(text)
    setCopied(true)
    setTimeout(() => setCopied(false), 1_500)
  }
  return (
    <button type="button" class="plain" aria-label={isCopied ? 'Copied' : `Copy ${label}`} onClick={() => void copy()}>
      {isCopied ? 'Copied' : 'Copy'}
    </button>
  )
}

/** The ID of a message, or the beginning of its key where no ID is known: a link to it, if it is known whose it is. */
export function KeyLink({
  of,
  id,
  consumer,
}: {
  of: string
  id?: string | undefined
  consumer: Pick<ConsumerInfo, 'id'> | undefined
}): JSX.Element {
  const text = id ?? of.slice(0, 12)
  if (consumer === undefined) return <span class="mono">{text}</span>
  return (
    <a
      class={id === undefined ? 'mono' : 'mono wrap'}
      title={of}
      href={href(['message'], { consumer: consumer.id, key: of })}
    >
      {text}
    </a>
  )
}

/** A key, or another text that people need elsewhere. `show`: the most characters that are shown. */
export function Copyable({ text, label, show = 999 }: { text: string; label: string; show?: number }): JSX.Element {
  return (
    <span class="copyable">
      <code title={text}>{text.length > show ? `${text.slice(0, show)}…` : text}</code>
      <Copy text={text} label={label} />
    </span>
  )
}

/** The command of the command-line tool that does the same. */
export function Command({ text, about }: { text: string; about?: string }): JSX.Element {
  return (
    <div>
      {about !== undefined && <p class="small muted wrap">{about}:</p>}
      <div class="command">
        <code class="grow">{text}</code>
        <Copy text={text} label={about === undefined ? 'the command' : `the command: ${about}`} />
      </div>
    </div>
  )
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }): JSX.Element {
  return (
    <div class="empty">
      <strong>{title}</strong>
      {children}
    </div>
  )
}

/** What a person should know about an answer. */
export function Warnings({ of }: { of: readonly string[] }): JSX.Element {
  return (
    <>
      {of.map((warning) => (
        <div key={warning} class="notice">
          <p class="wrap">{warning}</p>
        </div>
      ))}
    </>
  )
}

/** Names with their values. */
export function Facts({ of }: { of: readonly (readonly [string, ComponentChildren])[] }): JSX.Element {
  return (
    <dl class="facts">
      {of.map(([name, value], at) => [
        <dt key={`${name} ${at}`} class="wrap">
          {name}
        </dt>,
        <dd key={`${name} ${at} value`}>{value}</dd>,
      ])}
    </dl>
  )
}

/** A part of a whole, as a bar. */
export function Bar({
  share,
  of = 'accent',
  label,
}: {
  share: number
  of?: string | undefined
  label?: string
}): JSX.Element {
  const width = `${Math.max(0, Math.min(100, share * 100))}%`
  return (
    <svg
      class="bar-line"
      role={label === undefined ? undefined : 'img'}
      aria-label={label}
      aria-hidden={label === undefined}
    >
      <rect class="track" width="100%" height="8" rx="4" />
      <rect {...fill(of)} width={width} height="8" rx="4" />
    </svg>
  )
}

export function Tile({
  title,
  value,
  children,
}: {
  title: string
  value: ComponentChildren
  children?: ComponentChildren
}): JSX.Element {
  return (
    <dl class="tile">
      <dt>{title}</dt>
      <dd>{value}</dd>
      <dd class="small muted">{children}</dd>
    </dl>
  )
}

/** The clipboard may be refused on a page without TLS: then a selection does it. */
async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
  } catch {
    const area = document.createElement('textarea')
    area.value = text
    document.body.append(area)
    area.select()
    document.execCommand('copy')
    area.remove()
  }
}
