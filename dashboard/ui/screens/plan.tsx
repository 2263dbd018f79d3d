import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { ConsumerInfo, PlanRequest, ReplayPlan } from '../../api.ts'
import { post } from '../client.ts'
import { Problem } from '../components/loaded.tsx'
import { PlanView } from '../components/plan-view.tsx'
import { StartForm } from '../components/start-form.tsx'
import { Bar } from '../components/parts.tsx'
import { ConsumerPicker } from '../components/picker.tsx'
import { useShared } from '../context.ts'
import { count, plural } from '../../format.ts'
import { useJob } from '../use-job.ts'

export function Plan({ consumer, query }: { consumer: ConsumerInfo; query: URLSearchParams }): JSX.Element {
  const { session, say } = useShared()
  const work = useJob((job) => {
    if (job.kind === 'plan' && job.result !== undefined)
      say(`The plan is made: ${plural(job.result.toHandle, 'message')} would be handled.`)
  })
  const { job } = work
  const plan: ReplayPlan | undefined = job?.kind === 'plan' ? job.result : undefined
  const progress = job?.kind === 'plan' ? job.progress : undefined
  return (
    <>
      <div class="head">
        <h1>Plan a replay</h1>
        <p>A plan reads and counts. It changes nothing.</p>
        <ConsumerPicker consumer={consumer} />
      </div>
      <PlanForm
        key={consumer.id}
        consumer={consumer}
        from={query.get('from') ?? consumer.places[0] ?? ''}
        isRunning={work.isRunning}
        onPlan={(request) => work.start(() => post('api/plans', request))}
      />
      {work.failure !== undefined && <Problem failure={work.failure} />}
      {work.isRunning && (
        <section class="card stack" role="status">
          <span>
            {progress === undefined ? 'Reading …' : `${count(progress.looked)} of ${count(progress.of)} positions read`}
          </span>
          <Bar share={progress === undefined || progress.of === 0 ? 0 : progress.looked / progress.of} />
        </section>
      )}
      {plan !== undefined && <PlanView plan={plan} consumer={consumer} />}
      {plan !== undefined && job !== undefined && !session.readOnly && plan.toHandle > 0 && (
        <StartForm
          consumer={consumer}
          start={{ plan: job.id }}
          confirm={plan.toHandle}
          hasUnknown={plan.buckets.unknown.count > 0}
        />
      )}
    </>
  )
}

function PlanForm({
  consumer,
  from: first,
  isRunning,
  onPlan,
}: {
  consumer: ConsumerInfo
  from: string
  isRunning: boolean
  onPlan: (request: PlanRequest) => void
}): JSX.Element {
  const [from, setFrom] = useState(first)
  const [since, setSince] = useState('')
  const [until, setUntil] = useState('')
  const [max, setMax] = useState('')
  const [ids, setIds] = useState('')
  const [unknown, setUnknown] = useState<'refuse' | 'skip' | 'handle'>('refuse')
  const [givenUp, setGivenUp] = useState(false)
  const plan = (): void => {
    const wanted = ids.split(/[\n,]/).map((id) => id.trim())
    const some = wanted.filter((id) => id !== '')
    onPlan({
      consumer: consumer.id,
      from,
      ...(since === '' ? {} : { since: new Date(since).getTime() }),
      ...(until === '' ? {} : { until: new Date(until).getTime() }),
      ...(max === '' ? {} : { max: Number(max) }),
      ...(some.length === 0 ? {} : { ids: some }),
      rules: { unknown, givenUp: givenUp ? 'handle' : 'skip' },
    })
  }
  return (
    <form
      class="card form"
      onSubmit={(event) => {
        event.preventDefault()
        plan()
      }}
    >
      <label>
        Read from
        <input list="places" value={from} required onInput={(event) => setFrom(event.currentTarget.value)} />
        <datalist id="places">
          {consumer.places.map((place) => (
            <option key={place} value={place} />
          ))}
        </datalist>
      </label>
      <label>
        Arrived since
        <input type="datetime-local" step="1" value={since} onInput={(event) => setSince(event.currentTarget.value)} />
      </label>
      <label>
        Arrived before
        <input type="datetime-local" step="1" value={until} onInput={(event) => setUntil(event.currentTarget.value)} />
      </label>
      <label>
        At most
        <input
          type="number"
          min="1"
          placeholder="100000"
          value={max}
          onInput={(event) => setMax(event.currentTarget.value)}
        />
      </label>
      <label>
        Only these IDs
        <textarea
          rows={1}
          value={ids}
          placeholder="one a line; empty: all"
          onInput={(event) => setIds(event.currentTarget.value)}
        />
      </label>
      <label>
        No record, and nothing is proven
        <select value={unknown} onChange={(event) => setUnknown(event.currentTarget.value as typeof unknown)}>
          <option value="refuse">refuse to start</option>
          <option value="skip">skip them</option>
          <option value="handle">handle them: an effect may happen twice</option>
        </select>
      </label>
      <label class="check wide">
        <input type="checkbox" checked={givenUp} onChange={(event) => setGivenUp(event.currentTarget.checked)} />
        Handle what was given up, too
      </label>
      <div class="wide">
        <button type="submit" class="primary" disabled={isRunning}>
          Make the plan
        </button>
      </div>
    </form>
  )
}
