import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { ConsumerInfo, ReplayAnswer, ReplayInfo } from '../../api.ts'
import { isRedriveId } from '../../../src/replay/redrive-id.ts'
import { post } from '../client.ts'
import { Dialog } from '../components/dialog.tsx'
import { REASON } from '../components/form.tsx'
import { Head } from '../components/head.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Chip, Command, Time } from '../components/parts.tsx'
import { PlanView } from '../components/plan-view.tsx'
import { Report } from '../components/report.tsx'
import { StartForm } from '../components/start-form.tsx'
import { Shares } from '../components/table.tsx'
import { useShared } from '../context.ts'
import { count, duration } from '../../format.ts'
import { href } from '../place.ts'
import { useResource } from '../resource.ts'
import { REDRIVE_WORDS, REPLAY_OUTCOME_WORDS } from '../words.ts'
import { STATUS_TONES } from './replays.tsx'

const FILL: Readonly<Record<string, string>> = {
  handled: 'handled',
  redriven: 'handled',
  'done-before': 'duplicate',
  failed: 'dead-lettered',
  parked: 'parked',
  left: 'failed',
  skipped: 'wait',
}

export function Replay({ consumer, id }: { consumer: ConsumerInfo; id: string }): JSX.Element {
  const replay = useResource('api/replay', { consumer: consumer.id, id }, 1_000)
  return (
    <>
      <Head title={`${isRedriveId(id) ? 'Redrive' : 'Replay'} ${id}`} />
      <Loaded of={replay}>{(data) => <One consumer={consumer} data={data} refresh={replay.refresh} />}</Loaded>
    </>
  )
}

function One({
  consumer,
  data,
  refresh,
}: {
  consumer: ConsumerInfo
  data: ReplayAnswer
  refresh: () => void
}): JSX.Element {
  const { session, tell } = useShared()
  const { status, plan, progress, hasReport } = data
  const { kind } = status
  const totals: ReplayInfo['totals'] = progress?.totals ?? status.totals
  const isOver = status.status === 'finished' || status.status === 'aborted'
  const isLeft = status.status === 'paused' || status.status === 'died'
  useEffect(() => tell(`The ${kind} is ${status.status}.`), [status.status])
  const ask = async (what: Stop, reason = ''): Promise<void> => {
    await post(`api/replays/${what}`, { consumer: consumer.id, id: status.id, reason })
    refresh()
  }
  const accounted = Math.max(0, status.of - status.left)
  return (
    <>
      <section class="card stack">
        <header>
          <Chip tone={STATUS_TONES[status.status]}>{status.status}</Chip>
          <span class="muted wrap">
            {status.by}: {status.reason}, begun <Time at={status.startedAt} />
          </span>
          {!session.readOnly && !isOver && (
            <div class="row end">
              {status.status === 'running' && (
                <StopButton kind={kind} what="pause" isOff={status.request !== undefined} onStop={ask} />
              )}
              <StopButton kind={kind} what="abort" isOff={status.request === 'abort'} onStop={ask} />
            </div>
          )}
        </header>
        {status.because !== undefined && <p class="wrap">{status.because}</p>}
        {status.request !== undefined && <p>Asked to {status.request}; the process ends what it runs first.</p>}
        <Totals kind={kind} totals={totals} of={status.of} />
        <p class="muted">
          {count(accounted)} of {count(status.of)} {kind === 'redrive' ? 'looked at' : 'accounted for'}
          {progress !== undefined && `, ${count(progress.rate)} a second`}
          {progress?.leftSeconds !== undefined && `, about ${duration(progress.leftSeconds * 1_000)} left`}
          {progress?.waits !== undefined &&
            `. It waits for ${progress.waits === 'store' ? 'the store' : 'the end of quiet hours'}`}
          .
        </p>
        {hasReport && <Report consumer={consumer} id={status.id} />}
        <Command text={`npx consume-once replay status ${status.id}`} />
      </section>
      {isLeft && kind === 'redrive' && (
        <p>
          What is left stays where it is: <a href={href(['dead-letters'], { consumer: consumer.id })}>redrive again</a>.
        </p>
      )}
      {!session.readOnly && isLeft && kind === 'replay' && (
        <StartForm consumer={consumer} start={{ resume: status.id }} confirm={status.left} onStarted={refresh} />
      )}
      {plan !== undefined && <PlanView plan={plan} consumer={consumer} />}
    </>
  )
}

const REDRIVEN_WORDS: typeof REDRIVE_WORDS = { ...REDRIVE_WORDS, redriven: 'sent back to where it came from' }

function Totals({ kind, totals, of }: Pick<ReplayInfo, 'kind' | 'totals' | 'of'>): JSX.Element {
  const isRedrive = kind === 'redrive'
  const words = isRedrive ? REDRIVEN_WORDS : REPLAY_OUTCOME_WORDS
  return (
    <Shares
      caption={`What the ${kind} did`}
      of={isRedrive ? 'Dead letters' : 'Messages'}
      rows={Object.entries(totals)
        .filter(([name, number]) => !isRedrive || number > 0 || name === 'redriven')
        .map(([name, number]) => {
          const share = of === 0 ? 0 : number / of
          return { name, title: words[name] ?? name, count: number, share, color: FILL[name] ?? 'accent' }
        })}
    />
  )
}

type Stop = 'pause' | 'abort'

const STOPS = {
  pause: {
    verb: 'Pause',
    about: 'Its process ends the handlers that run, and begins no other. It can go on later.',
    submit: 'Pause',
  },
  abort: {
    verb: 'Abort',
    about: 'Its process ends the handlers that run. The replay cannot go on after this.',
    submit: 'Abort for good',
  },
} as const

const REDRIVE_STOPS =
  'It ends after the dead letters that it is at. What is left stays where it is, for another redrive.'

function StopButton({
  kind,
  what,
  isOff,
  onStop,
}: {
  kind: ReplayInfo['kind']
  what: Stop
  isOff: boolean
  onStop: (what: Stop, reason?: string) => Promise<void>
}): JSX.Element {
  const [isAsking, ask] = useState(false)
  const { verb, about, submit } = STOPS[what]
  const isDangerous = what === 'abort'
  const close = (): void => ask(false)
  return (
    <>
      <button type="button" class={isDangerous ? 'danger' : ''} disabled={isOff} onClick={() => ask(true)}>
        {verb} …
      </button>
      {isAsking && (
        <Dialog
          title={`${verb} the ${kind}`}
          fields={[REASON]}
          submit={submit}
          isDangerous={isDangerous}
          onClose={close}
          onSubmit={({ reason }) => onStop(what, reason).then(close)}
        >
          <p>{kind === 'redrive' ? REDRIVE_STOPS : about}</p>
        </Dialog>
      )}
    </>
  )
}
