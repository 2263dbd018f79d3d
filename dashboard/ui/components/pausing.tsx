import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { ConsumerInfo } from '../../api.ts'
import { post, type Failure } from '../client.ts'
import { useShared } from '../context.ts'
import type { Running } from '../live-view.ts'
import { asFailure } from '../resource.ts'
import { Dialog } from './dialog.tsx'
import { Problem } from './loaded.tsx'

const WORDS = {
  pause: {
    title: 'Pause',
    about:
      'It begins no further message until it is resumed or its process ends. What runs goes on and is marked. Other processes take what it leaves.',
  },
  resume: { title: 'Resume', about: 'It goes on where it stopped.' },
} as const

/** Pauses or resumes a consumer of the process that serves this page. Others have a health server, which changes nothing. */
export function PauseButton({
  consumer,
  live,
  instance,
}: Running & { readonly consumer: ConsumerInfo }): JSX.Element | null {
  const { session } = useShared()
  const [isAsking, ask] = useState(false)
  const state = live.health?.state
  const isHere = instance === 'this process' && live.stoppedAt === undefined
  if (session.readOnly || !isHere || (state !== 'running' && state !== 'stalled' && state !== 'paused')) return null
  const what = state === 'paused' ? 'resume' : 'pause'
  return (
    <>
      <button type="button" onClick={() => ask(true)}>
        {WORDS[what].title} …
      </button>
      {isAsking && <PauseDialog consumer={consumer} what={what} onClose={() => ask(false)} />}
    </>
  )
}

function PauseDialog({
  consumer,
  what,
  onClose,
}: {
  consumer: ConsumerInfo
  what: keyof typeof WORDS
  onClose: () => void
}): JSX.Element {
  const { say, live } = useShared()
  const [reason, setReason] = useState('')
  const [failure, fail] = useState<Failure>()
  const { title, about } = WORDS[what]
  const send = async (): Promise<void> => {
    try {
      await post(`api/consumers/${what}`, { consumer: consumer.id, reason: reason.trim() })
      live.refresh()
      say(`${consumer.name} is ${what}d.`)
      onClose()
    } catch (error) {
      fail(asFailure(error))
    }
  }
  return (
    <Dialog title={`${title} ${consumer.name}`} onClose={onClose} onSubmit={() => void send()}>
      {failure !== undefined && <Problem failure={failure} />}
      <p>{about}</p>
      <label>
        Reason
        <input value={reason} required onInput={(event) => setReason(event.currentTarget.value)} />
      </label>
      <footer>
        <button type="button" onClick={onClose}>
          Close
        </button>
        <button type="submit" class="primary" disabled={reason.trim() === ''}>
          {title}
        </button>
      </footer>
    </Dialog>
  )
}
