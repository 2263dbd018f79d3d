import type { JSX } from 'preact'
import type { ConsumerInfo, StartRequest } from '../../api.ts'
import { plural } from '../../format.ts'
import { post, whenThereIsRoom } from '../client.ts'
import { useShared } from '../context.ts'
import { go } from '../router.ts'
import { confirmation, Form, REASON, type Field } from './form.tsx'

const LIMITS: readonly Field[] = [
  { name: 'rate', label: 'Messages a second', kind: 'number', placeholder: '20 with a lease' },
  { name: 'canary', label: 'Pause after the first', kind: 'number', placeholder: 'no canary' },
  { name: 'stopOnFailures', label: 'Pause after failures', kind: 'number', placeholder: 'never' },
]

/** Begins a replay, or goes on with one, after a reason and a typed count. */
export function StartForm({
  consumer,
  start,
  confirm,
  hasUnknown = false,
  onStarted,
}: {
  consumer: ConsumerInfo
  start: Pick<StartRequest, 'plan' | 'resume'>
  confirm: number
  hasUnknown?: boolean
  onStarted?: () => void
}): JSX.Element {
  const { say } = useShared()
  const title = start.resume === undefined ? 'Start the replay' : 'Go on'
  return (
    <Form
      title={title}
      class="card"
      fields={[{ ...REASON, hint: 'Kept with the replay and in the audit.' }, ...LIMITS, confirmation(confirm)]}
      submit={`${title}: ${plural(confirm, 'message')}`}
      onSubmit={async ({ reason = '', ...typed }) => {
        const limits = LIMITS.flatMap(({ name }) => (typed[name] ? [[name, Number(typed[name])] as const] : []))
        const asked = { consumer: consumer.id, ...start, reason, confirm, ...Object.fromEntries(limits) }
        await whenThereIsRoom(() => post('api/replays/start', asked))
        say('The replay runs.')
        if (onStarted === undefined) go(['replays'], { consumer: consumer.id })
        else onStarted()
      }}
    >
      {hasUnknown && (
        <p>
          Some messages have no record, and nothing proves that they were not handled. What happens with them is as the
          plan says.
        </p>
      )}
    </Form>
  )
}
