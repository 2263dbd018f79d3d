import { redrive } from '../../../src/replay/redrive.ts'
import type {
  RedriveOptions,
  RedriveProgress,
  RedrivenDeadLetter,
  RedriveResult,
} from '../../../src/replay/redrive-options.ts'
import { fileJournal } from '../../../adapters/file/index.ts'
import { keyIn } from '../../../src/records/key-in.ts'
import type { JobInfo, LookProgress, Meant } from '../../api.ts'
import type { Shown } from '../consumers.ts'
import { badRequest, HttpError } from '../http-error.ts'
import type { Params } from '../params.ts'
import type { Asked, Services } from '../services.ts'
import { reasonIn } from './decisions.ts'
import { journalOf } from './replays.ts'

const MOST_LOOKED_AT = 100_000
const SAMPLE = 50
const MOST_TEXTS = 100
const EVER = { least: 0, most: Number.MAX_SAFE_INTEGER }
/** What was found may have changed after that. */
const LOOK_IS_GOOD_MS = 600_000

export async function look(services: Services, { params, principal }: Asked): Promise<JobInfo> {
  const shown = services.consumers.of(params)
  const max = params.maybeWhole('max', { least: 1, most: MOST_LOOKED_AT }) ?? MOST_LOOKED_AT
  if (!shown.info(principal.readOnly).can.deadLetters) throw refusedLook(shown, principal.readOnly)
  const sample: RedrivenDeadLetter[] = []
  const only = onlyIn(params)
  return services.jobs.start({
    kind: 'dead-letters',
    consumer: shown.id,
    by: principal.by,
    job: () => jobOf(shown, { dryRun: true, lookAtMost: max, ...selectionOf(only) }),
    progressOf: (progress: RedriveProgress) => {
      const meant = progress.deadLetters.filter(({ outcome }) => outcome !== 'filtered')
      sample.push(...meant.slice(0, SAMPLE - sample.length))
      return progressOf(progress)
    },
    resultOf: (result) => ({ ...result, sample, only }),
  })
}

export async function redriveFound(services: Services, { params, principal }: Asked): Promise<JobInfo> {
  const shown = services.consumers.of(params)
  const found = services.jobs.get(params.text('look'))
  if (found.kind !== 'dead-letters' || found.consumer !== shown.id || found.result === undefined) {
    throw badRequest('look: expected a finished look at the dead letters of this consumer')
  }
  if (services.clock.now() - (found.endedAt ?? 0) > LOOK_IS_GOOD_MS) {
    throw new HttpError(409, 'HTTP_PREVIEW', 'the look is older than 10 minutes: look again before you redrive')
  }
  const { totals, only, foreseen } = found.result
  const confirmed = params.maybeWhole('confirm', { least: 1, most: MOST_LOOKED_AT })
  if (confirmed !== totals.redriven) throw badRequest(`confirm: expected ${totals.redriven}, what would be redriven`)
  const journal = fileJournal(journalOf(services, foreseen.id))
  const rate = params.maybeNumber('rate', { least: 0.01, most: 100_000 })
  const options = {
    dryRun: false,
    by: principal.by,
    reason: reasonIn(params),
    foreseen,
    journal,
    rate,
    ...selectionOf(only),
  }
  return services.jobs.start({
    kind: 'redrive',
    consumer: shown.id,
    by: principal.by,
    job: () => jobOf(shown, options),
    progressOf,
    resultOf: (result: RedriveResult) => result,
  })
}

function onlyIn(params: Params): Meant {
  const [id, given] = [params.maybeText('id') || undefined, params.maybeText('key')?.trim() || undefined]
  if (id !== undefined && given !== undefined) throw badRequest('expected id or key, not both')
  const key = given === undefined ? undefined : keyIn(given)
  if (given !== undefined && key === undefined) {
    throw badRequest('key: expected a key of 22 characters, or an idempotency key of 43; a message ID goes into id')
  }
  const asked = {
    id,
    key,
    since: params.maybeWhole('since', EVER),
    until: params.maybeWhole('until', EVER),
    where: params.maybeTexts('where', MOST_TEXTS),
    reasons: params.maybeTexts('reasons', MOST_TEXTS),
    include: params.maybeTexts('include', MOST_TEXTS),
  }
  return Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined))
}

function selectionOf({ id, key, ...selection }: Meant): Pick<RedriveOptions, 'ids' | 'keys' | keyof typeof selection> {
  return { ...selection, ...(id === undefined ? {} : { ids: [id] }), ...(key === undefined ? {} : { keys: [key] }) }
}

function jobOf({ entry }: Shown, options: RedriveOptions): ReturnType<typeof redrive> {
  return redrive(entry.consumer, entry.subscription, options)
}

function progressOf({ looked, of, totals }: RedriveProgress): LookProgress {
  return { looked, of, totals }
}

function refusedLook({ id, info }: Shown, readOnly: boolean): HttpError {
  return readOnly && info(false).can.deadLetters
    ? new HttpError(
        405,
        'HTTP_READ_ONLY',
        'the dashboard is read-only, and a queue counts each reading as a delivery: use the list of what was given up',
      )
    : badRequest(`${id} has no dead-letter place that can be read`)
}
