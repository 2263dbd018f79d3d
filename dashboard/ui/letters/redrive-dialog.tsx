import type { JSX } from 'preact'
import type { ConsumerInfo, DeadLettersFound, RedriveResult } from '../../api.ts'
import { plural } from '../../format.ts'
import { post } from '../client.ts'
import { Dialog } from '../components/dialog.tsx'
import { confirmation, REASON } from '../components/form.tsx'
import { useShared } from '../context.ts'
import { href } from '../place.ts'
import { useJob } from '../use-job.ts'
import { LookProgress } from './progress.tsx'

export function RedriveDialog({
  consumer,
  look,
  found,
  onClose,
  onDone,
}: {
  consumer: ConsumerInfo
  look: string
  found: DeadLettersFound
  onClose: () => void
  onDone: (sent: RedriveResult) => void
}): JSX.Element {
  const { say } = useShared()
  const work = useJob((job) => {
    if (job.kind !== 'redrive' || job.result === undefined) return
    say(`${plural(job.result.totals.redriven, 'dead letter')} sent back.`)
    onClose()
    onDone(job.result)
  })
  const number = found.totals.redriven
  return (
    <Dialog
      title="Send dead letters back"
      fields={[REASON, confirmation(number)]}
      submit="Send back"
      isOff={work.isRunning}
      failure={work.failure}
      onClose={onClose}
      onSubmit={({ reason = '' }) =>
        work.start(() => post('api/dead-letters/redrive', { consumer: consumer.id, look, reason, confirm: number }))
      }
    >
      <p>
        Each is published where it came from ({Object.keys(found.destinations).join(', ')}), confirmed, and runs at its
        next delivery. What is done or parked by then is left.
      </p>
      {work.isRunning && (
        <p class="row">
          <LookProgress work={work} />
          <a href={href(['replays', found.id], { consumer: consumer.id })}>Pause or abort it</a>
        </p>
      )}
    </Dialog>
  )
}
