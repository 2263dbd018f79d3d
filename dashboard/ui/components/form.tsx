import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Failure } from '../client.ts'
import { asFailure } from '../resource.ts'
import { Problem } from './loaded.tsx'

export interface Field {
  readonly name: string
  readonly label: string
  readonly hint?: string
  /** `lines`: several texts, one a line. `suggest`: a text, with `choices` to choose from. @defaultValue text */
  readonly kind?: 'number' | 'time' | 'lines' | 'suggest' | 'choice' | 'check'
  readonly value?: string
  readonly placeholder?: string
  /** The form cannot be sent without it. */
  readonly isRequired?: boolean
  /** The form can only be sent with this. */
  readonly exactly?: string
  readonly isWide?: boolean
  /** Rarely used: shown on demand. */
  readonly isRare?: boolean
  /** Values, with their titles. */
  readonly choices?: readonly (readonly [value: string, title: string])[]
}

/** What was typed, by the names of the fields, without spaces around it; `on` for a box that is ticked. */
export type Values = Readonly<Record<string, string>>

export const REASON: Field = { name: 'reason', label: 'Reason', isRequired: true, isWide: true }

/** A number that a person types again, so that nobody changes more than was meant. */
export function confirmation(count: number): Field {
  return { name: 'confirm', label: `To confirm, type how many: ${count}`, exactly: String(count) }
}

export interface FormProps {
  readonly title?: string
  readonly class?: string
  readonly fields: readonly Field[]
  /** On the button that sends it. */
  readonly submit: string
  readonly isDangerous?: boolean
  /** Cannot be sent now. */
  readonly isOff?: boolean
  readonly failure?: Failure | undefined
  /** What failed is asked for again without a person. */
  readonly asksAgain?: boolean
  readonly onCancel?: () => void
  /** Its failure is shown. */
  readonly onSubmit: (values: Values) => Promise<void> | void
  /** Between the title and the fields. */
  readonly children?: ComponentChildren
}

/** What was typed into a field of `lines`, without empty ones. */
export function linesOf(text = ''): readonly string[] {
  const lines = text.split('\n').map((line) => line.trim())
  return lines.filter((line) => line !== '')
}

/** Every form of the dashboard. The browser keeps what was typed, and checks it. */
export function Form({ fields, onSubmit, onCancel, isOff = false, children, ...props }: FormProps): JSX.Element {
  const form = useRef<HTMLFormElement>(null)
  const [isComplete, setComplete] = useState(false)
  const [isSending, setSending] = useState(false)
  const [failed, fail] = useState<Failure>()
  const check = (): void => setComplete(form.current?.querySelector('[required]:invalid') === null)
  useEffect(check)
  const isReady = isComplete && !isOff && !isSending
  const send = async (): Promise<void> => {
    if (form.current === null || !isReady) return
    const typed = [...new FormData(form.current)].map(([name, value]) => [
      name,
      typeof value === 'string' ? value.trim() : '',
    ])
    setSending(true)
    fail(undefined)
    try {
      await onSubmit(Object.fromEntries(typed) as Values)
    } catch (error) {
      fail(asFailure(error))
    }
    setSending(false)
  }
  const failure = failed ?? props.failure
  const rare = fields.filter(({ isRare }) => isRare)
  return (
    <form
      ref={form}
      class={`form ${props.class ?? ''}`}
      aria-label={props.title}
      onInput={check}
      onSubmit={(event) => {
        event.preventDefault()
        void send()
      }}
    >
      {props.title !== undefined && <h2>{props.title}</h2>}
      {failure !== undefined && (
        <Problem failure={failure} asksAgain={failed === undefined && props.asksAgain === true} />
      )}
      {children}
      <Fields fields={fields.filter(({ isRare }) => !isRare)} />
      {rare.length > 0 && (
        <details>
          <summary>More options</summary>
          <Fields fields={rare} />
        </details>
      )}
      <footer>
        {onCancel !== undefined && (
          <button type="button" onClick={onCancel}>
            Cancel
          </button>
        )}
        <button type="submit" class={props.isDangerous === true ? 'danger' : 'primary'} disabled={!isReady}>
          {props.submit}
        </button>
      </footer>
    </form>
  )
}

function Fields({ fields }: Pick<FormProps, 'fields'>): JSX.Element | null {
  if (fields.length === 0) return null
  return (
    <div class="fields">
      {fields.map((field) => (
        <label key={field.name} class={`${field.isWide ? 'wide' : ''} ${field.kind === 'check' ? 'check' : ''}`}>
          {field.kind !== 'check' && field.label}
          {field.hint !== undefined && <span class="hint small muted">{field.hint}</span>}
          <Input {...field} />
          {field.kind === 'check' && field.label}
        </label>
      ))}
    </div>
  )
}

function Input({ name, kind, value = '', placeholder, isRequired, exactly, choices = [] }: Field): JSX.Element {
  if (kind === 'check') return <input type="checkbox" name={name} />
  if (kind === 'lines') return <textarea name={name} rows={2} placeholder={placeholder} defaultValue={value} />
  const options = choices.map(([choice, title]) => (
    <option key={choice} value={choice}>
      {title}
    </option>
  ))
  if (kind === 'choice') return <select name={name}>{options}</select>
  return (
    <>
      <input
        name={name}
        type={kind === 'number' ? 'number' : kind === 'time' ? 'datetime-local' : 'text'}
        step={kind === 'time' ? 1 : undefined}
        min={kind === 'number' ? 1 : undefined}
        inputMode={exactly === undefined ? undefined : 'numeric'}
        defaultValue={value}
        placeholder={placeholder}
        required={isRequired === true || exactly !== undefined}
        // Not only spaces.
        pattern={exactly ?? (isRequired === true ? '.*\\S.*' : undefined)}
        maxLength={isRequired === true ? 500 : undefined}
        autocomplete="off"
        list={kind === 'suggest' ? `${name}-choices` : undefined}
      />
      {kind === 'suggest' && <datalist id={`${name}-choices`}>{options}</datalist>}
    </>
  )
}
