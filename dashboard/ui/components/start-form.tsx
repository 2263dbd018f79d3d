import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { ConsumerInfo, StartRequest } from '../../api.ts'
import { post, type Failure } from '../client.ts'
import { useShared } from '../context.ts'
import { plural } from '../../format.ts'
import { asFailure } from '../resource.ts'
import { go } from '../router.ts'
import { Problem } from './loaded.tsx'

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
  const [reason, setReason] = useState('')
  const [typed, setTyped] = useState('')
  const [rate, setRate] = useState('')
  const [canary, setCanary] = useState('')
  const [failures, setFailures] = useState('')
  const [failure, setFailure] = useState<Failure>()
  const [isSending, setSending] = useState(false)
  const isReady = reason.trim() !== '' && typed.trim() === String(confirm) && !isSending
  const title = start.resume === undefined ? 'Start the replay' : 'Go on'

  const send = async (): Promise<void> => {
    if (!isReady) return
    setSending(true)
    setFailure(undefined)
    try {
      await post('api/replays/start', {
        consumer: consumer.id,
        ...start,
        reason: reason.trim(),
        confirm,
        ...(rate === '' ? {} : { rate: Number(rate) }),
        ...(canary === '' ? {} : { canary: Number(canary) }),
        ...(failures === '' ? {} : { stopOnFailures: Number(failures) }),
      })
      say('The replay runs.')
      if (onStarted === undefined) go(['replays'], { consumer: consumer.id })
      else onStarted()
    } catch (error) {
      setFailure(asFailure(error))
      setSending(false)
    }
  }
  return (
    <form
      class="card form"
      aria-label={title}
      onSubmit={(event) => {
        event.preventDefault()
        void send()
      }}
    >
      <h2 class="wide">{title}</h2>
      {failure !== undefined && (
        <div class="wide">
          <Problem failure={failure} />
        </div>
      )}
      {hasUnknown && (
        <p class="wide">
          Some messages have no record, and nothing proves that they were not handled. What happens with them is as the
          plan says.
        </p>
      )}
      <label class="wide">
        Reason
        <span class="hint small muted">Kept with the replay and in the audit.</span>
        <input value={reason} required maxLength={500} onInput={(event) => setReason(event.currentTarget.value)} />
      </label>
      <label>
        Messages a second
        <input
          type="number"
          min="1"
          placeholder="20 with a lease"
          value={rate}
          onInput={(event) => setRate(event.currentTarget.value)}
        />
      </label>
      <label>
        Pause after the first
        <input
          type="number"
          min="1"
          placeholder="no canary"
          value={canary}
          onInput={(event) => setCanary(event.currentTarget.value)}
        />
      </label>
      <label>
        Pause after failures
        <input
          type="number"
          min="1"
          placeholder="never"
          value={failures}
          onInput={(event) => setFailures(event.currentTarget.value)}
        />
      </label>
      <label>
        To confirm, type how many: {confirm}
        <input
          value={typed}
          inputMode="numeric"
          autocomplete="off"
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
      </label>
      <div class="wide">
        <button type="submit" class="primary" disabled={!isReady}>
          {title}: {plural(confirm, 'message')}
        </button>
      </div>
    </form>
  )
}
