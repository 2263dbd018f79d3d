import type { JSX } from 'preact'
import type { ConsumerInfo, ReplayPlan } from '../../api.ts'
import { post } from '../client.ts'
import { PlanForm } from '../components/plan-form.tsx'
import { PlanView } from '../components/plan-view.tsx'
import { StartForm } from '../components/start-form.tsx'
import { Bar } from '../components/parts.tsx'
import { Head } from '../components/head.tsx'
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
      <Head title="Plan a replay" about="A plan reads and counts. It changes nothing." consumer={consumer} />
      <PlanForm
        key={consumer.id}
        consumer={consumer}
        from={query.get('from') ?? consumer.places[0] ?? ''}
        isRunning={work.isRunning}
        failure={work.failure}
        onPlan={(request) => work.start(() => post('api/plans', request))}
      />
      {work.isRunning && (
        <section class="card stack" role="status">
          <span>
            {progress === undefined
              ? 'Reading …'
              : `${count(progress.looked)} of ${plural(progress.of, 'position')} read`}
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
