import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { ConsumerInfo } from '../../api.ts'
import { post } from '../client.ts'
import { useShared } from '../context.ts'
import type { Running } from '../live-view.ts'
import { Dialog } from './dialog.tsx'
import { REASON } from './form.tsx'

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
  if (session.readOnly || live.stoppedAt !== undefined) return null
  if (instance !== 'this process') {
    return <span class="muted small">Paused and resumed in its own process, by running.pause()</span>
  }
  if (state !== 'running' && state !== 'stalled' && state !== 'paused' && state !== 'holding') return null
  const what = state === 'paused' || state === 'holding' ? 'resume' : 'pause'
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
  const { title, about } = WORDS[what]
  const send = async (reason = ''): Promise<void> => {
    const { unnoted } = await post(`api/consumers/${what}`, { consumer: consumer.id, reason })
    live.refresh()
    say(`${consumer.name} is ${what}d.${unnoted === undefined ? '' : ` The audit does not have it: ${unnoted}.`}`)
    onClose()
  }
  return (
    <Dialog
      title={`${title} ${consumer.name}`}
      fields={[REASON]}
      submit={title}
      onClose={onClose}
      onSubmit={({ reason }) => send(reason)}
    >
      <p>{about}</p>
    </Dialog>
  )
}
