import type { ComponentChildren, JSX } from 'preact'
import { adviceOnNoAnswer } from '../../../src/people/no-answer.ts'
import type { Failure } from '../client.ts'
import type { Resource } from '../resource.ts'
import { Empty, Time } from './parts.tsx'
import { useShared } from '../context.ts'

/** Shows what was loaded; says what is wrong, above what was last known, while it cannot be loaded anew. */
export function Loaded<T>({
  of,
  children,
}: {
  of: Resource<T>
  children: (data: T) => ComponentChildren
}): JSX.Element {
  const { clockOffset } = useShared()
  return (
    <>
      {of.failure !== undefined && (
        <Problem failure={of.failure} asksAgain since={of.at === undefined ? undefined : of.at + clockOffset} />
      )}
      {of.data !== undefined ? children(of.data) : of.failure === undefined && <Empty title="Loading …" />}
    </>
  )
}

/** `asksAgain`: the page does so by itself, if that may help. */
export function Problem({
  failure,
  asksAgain = false,
  since,
}: {
  failure: Failure
  asksAgain?: boolean
  since?: number | undefined
}): JSX.Element {
  const { heals } = failure
  return (
    <div class={`notice ${heals ? '' : 'alarm'}`} role="status">
      <strong>{titleOf(failure)}</strong>
      <p class="grow wrap">
        {textOf(failure)} {heals && asksAgain && 'This page asks again by itself.'}
        {since !== undefined && (
          <>
            {' '}
            Shown is what was known <Time at={since} />.
          </>
        )}
      </p>
    </div>
  )
}

/** What happened, and what to look at. */
function textOf({ message, code }: Failure): string {
  const advice = adviceOnNoAnswer(code)
  return advice === undefined ? message : `${message.replace(/\.$/, '')}. ${advice}.`
}

function titleOf({ status }: Failure): string {
  if (status === 0) return 'No answer'
  if (status === 503) return 'Store or broker down'
  if (status === 429) return 'Too many requests'
  if (status === 404) return 'Not found'
  if (status === 401 || status === 403) return 'Not allowed'
  return status === 409 ? 'Refused' : 'Not possible'
}
