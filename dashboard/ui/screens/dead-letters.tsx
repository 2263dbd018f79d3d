import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { ConsumerInfo, Meant, RedriveResult } from '../../api.ts'
import { countText } from '../alarms.ts'
import { post } from '../client.ts'
import { Form } from '../components/form.tsx'
import { Head } from '../components/head.tsx'
import { Problem } from '../components/loaded.tsx'
import { Empty } from '../components/parts.tsx'
import { useShared } from '../context.ts'
import { Found } from '../letters/found.tsx'
import { meantBy, SameCommand, SELECTION } from '../letters/meant.tsx'
import { LookProgress } from '../letters/progress.tsx'
import { Sent } from '../letters/sent.tsx'
import { href } from '../place.ts'
import { useJob } from '../use-job.ts'

export function DeadLetters({ consumer, query }: { consumer: ConsumerInfo; query: URLSearchParams }): JSX.Element {
  const work = useJob()
  const { job } = work
  const found = job?.kind === 'dead-letters' ? job.result : undefined
  const [id, key] = [query.get('id') ?? '', query.get('key') ?? '']
  const one = id === '' ? key : id
  const ofOne: Meant = { ...(id === '' ? {} : { id }), ...(id === '' && key !== '' ? { key } : {}) }
  const [only, mean] = useState<Meant>(ofOne)
  // What was just sent back, until a person looks again.
  const [sent, keepSent] = useState<RedriveResult>()
  const look = (meant: Meant, after?: RedriveResult): void => {
    mean(meant)
    keepSent(after)
    work.start(() => post('api/dead-letters/look', { consumer: consumer.id, ...meant }))
  }
  // Whoever comes for one message wants to see it. A queue counts each reading as a delivery, so a person asks for it.
  useEffect(() => {
    if (one !== '' && consumer.can.deadLetters && consumer.system === 'kafka') look(ofOne)
  }, [])
  return (
    <>
      <Head
        title="Dead letters"
        about={consumer.deadLetters.join(', ') || 'This consumer has no dead-letter place'}
        consumer={consumer}
      />
      <section class="card stack">
        {one !== '' && (
          <p class="row wrap">
            <strong>Only those of message {one}</strong>
            <a href={href(['dead-letters'], { consumer: consumer.id })}>All dead letters</a>
          </p>
        )}
        <div class="row">
          <button
            type="button"
            class="primary"
            disabled={!consumer.can.deadLetters || work.isRunning}
            onClick={() => look(ofOne)}
          >
            {found === undefined ? 'Look at the dead letters' : one === '' ? 'Look at all of them' : 'Look again'}
          </button>
          {work.isRunning && (
            <>
              <LookProgress work={work} />
              <button type="button" onClick={work.stop}>
                Stop
              </button>
            </>
          )}
          {!consumer.can.deadLetters && consumer.deadLetters.length > 0 && (
            <span class="muted">
              This dashboard is read-only, and a queue counts each reading as a delivery: it is not read here.
            </span>
          )}
        </div>
        {one === '' && consumer.can.deadLetters && (
          <details>
            <summary>Only some of them</summary>
            <Form
              title="Only some of them"
              fields={SELECTION}
              submit="Look at these"
              isOff={work.isRunning}
              onSubmit={(typed) => look(meantBy(typed))}
            />
          </details>
        )}
        {work.failure !== undefined && <Problem failure={work.failure} />}
        {found === undefined && sent === undefined && !work.isRunning && (
          <Empty title="What lies there, and why">
            <SetAside consumer={consumer} />
            <p>
              A look reads the dead letters, compares each with its record, and tells what would become of it: sent
              back, done already, parked, or left. No message is sent and no record changes
              {consumer.system === 'rabbitmq' && '; the queue counts it as a delivery of each'}.
            </p>
            <SameCommand consumer={consumer} only={only} />
          </Empty>
        )}
        {sent !== undefined && <Sent consumer={consumer} sent={sent} />}
        {found !== undefined && (
          <Found
            consumer={consumer}
            look={job?.id ?? ''}
            found={found}
            isAfterSending={sent !== undefined}
            onLook={look}
          />
        )}
      </section>
    </>
  )
}

/** What the records tell of the dead letters, without a look at the broker. */
function SetAside({ consumer }: { consumer: ConsumerInfo }): JSX.Element | null {
  const { counts } = useShared()
  const found = counts.data?.consumers.find((one) => one.consumer === consumer.id)?.counts
  if (found === undefined || consumer.deadLetters.length === 0) return null
  return (
    <p>
      By the records,{' '}
      <a href={href(['records', 'given-up'], { consumer: consumer.id })}>{countText(found['given-up'])} given up</a> and{' '}
      <a href={href(['records', 'parked'], { consumer: consumer.id })}>{countText(found.parked)} parked</a>: the dead
      letters have a copy of each. They also have messages without a record of their own, such as conflicts and those
      without a usable ID.
    </p>
  )
}
