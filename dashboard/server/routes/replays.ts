import { existsSync } from 'node:fs'
import { join, resolve, sep } from 'node:path'
import { fileJournal } from '../../../adapters/file/index.ts'
import { planReplay, type PlanOptions } from '../../../src/replay/make-plan.ts'
import type { ReplayRules } from '../../../src/core/replay.ts'
import { isRedriveId } from '../../../src/replay/redrive-id.ts'
import { REPORT_FORMATS } from '../../../src/replay/report-text.ts'
import { leftOf } from '../../../src/replay/run-state.ts'
import { runReplay } from '../../../src/replay/run.ts'
import { workInfo, workReport, worksOf, type Works, type WorkStatus } from '../../../src/replay/works.ts'
import type { ReplayPlan } from '../../../src/replay/plan.ts'
import type { JobInfo, ReplayAnswer, ReplayInfo, ReplaysAnswer } from '../../api.ts'
import type { Shown } from '../consumers.ts'
import { idsIn } from '../../../src/people/id-list.ts'
import { badRequest, HttpError } from '../http-error.ts'
import type { Params } from '../params.ts'
import type { Asked, Services } from '../services.ts'
import { reasonIn } from './decisions.ts'

const MOST_PLANNED = 1_000_000
const PLANNED = 100_000
const MOST_IDS = 20_000
const MOST_TEXTS = 100
const RULES: Readonly<Record<keyof ReplayRules, true>> = {
  again: true,
  givenUp: true,
  inDoubt: true,
  unknown: true,
  maxReplays: true,
}
const EVER = { least: 0, most: Number.MAX_SAFE_INTEGER }

export async function plan(services: Services, { params, principal }: Asked): Promise<JobInfo> {
  const shown = services.consumers.of(params)
  const { can, places } = shown.info(principal.readOnly)
  if (!can.plan) {
    throw shown.info(false).can.plan
      ? new HttpError(
          405,
          'HTTP_READ_ONLY',
          'the dashboard is read-only, and a queue counts each reading as a delivery',
        )
      : badRequest(`${shown.id}: its broker or its store cannot be planned with`)
  }
  const from = params.text('from')
  // Files of the server are for the command-line tool.
  if (!places.includes(from.replace(/@\d{1,9}$/, ''))) throw badRequest(`from: expected one of ${places.join(', ')}`)
  const options = planOptions(params, from)
  const { consumer, subscription } = shown.entry
  return services.jobs.start({
    kind: 'plan',
    consumer: shown.id,
    by: principal.by,
    job: () => planReplay(consumer, subscription, options),
    progressOf: (progress) => progress,
    resultOf: (made: ReplayPlan) => made,
  })
}

function planOptions(params: Params, from: string): PlanOptions {
  const rules = params.maybeObject('rules', RULES)
  const given = {
    again: rules?.maybeTrue('again'),
    givenUp: rules?.maybeOneOf('givenUp', ['handle', 'skip']),
    inDoubt: rules?.maybeOneOf('inDoubt', ['rerun', 'leave']),
    unknown: rules?.maybeOneOf('unknown', ['refuse', 'handle', 'skip']),
    maxReplays: rules?.maybeWhole('maxReplays', { least: 1, most: 1_000 }),
  }
  return {
    from,
    since: params.maybeWhole('since', EVER),
    until: params.maybeWhole('until', EVER),
    fromPosition: params.maybeOffset('fromPosition'),
    toPosition: params.maybeOffset('toPosition'),
    ids: idsOf(params),
    where: params.maybeTexts('where', MOST_TEXTS),
    reasons: params.maybeTexts('reasons', MOST_TEXTS),
    include: params.maybeTexts('include', MOST_TEXTS) as PlanOptions['include'],
    lookAtMost: params.maybeWhole('max', { least: 1, most: MOST_PLANNED }) ?? PLANNED,
    groupBy: params.maybeText('groupBy'),
    rules: Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
  }
}

/** From a text field: pasted in another format, no ID would be found. */
function idsOf(params: Params): readonly string[] | undefined {
  const lines = params.maybeTexts('ids', MOST_IDS)
  if (lines === undefined) return undefined
  const ids = idsIn(lines.join('\n'))
  if (typeof ids === 'string') throw badRequest(`ids: ${ids} (on the command line)`)
  return ids
}

export async function start(services: Services, { params, principal }: Asked): Promise<JobInfo> {
  const shown = services.consumers.of(params)
  const { plan: made, left } = await planOf(services, shown, params)
  const confirmed = params.maybeWhole('confirm', EVER)
  if (confirmed !== left) throw badRequest(`confirm: expected ${left}`)
  const { consumer, subscription } = shown.entry
  const options = {
    by: principal.by,
    reason: reasonIn(params),
    rate: params.maybeNumber('rate', { least: 0.01, most: 100_000 }),
    concurrency: params.maybeWhole('concurrency', { least: 1, most: 10_000 }),
    canary: params.maybeWhole('canary', { least: 1, most: MOST_PLANNED }),
    stopOnFailures: params.maybeWhole('stopOnFailures', { least: 1, most: MOST_PLANNED }),
    quietHours: params.maybeText('quietHours'),
    unknown: params.maybeOneOf('unknown', ['handle', 'skip']),
    journal: fileJournal(journalOf(services, made.id)),
  }
  return services.jobs.start({
    kind: 'replay',
    consumer: shown.id,
    by: principal.by,
    job: () => runReplay(consumer, subscription, made, options),
    progressOf: (progress) => progress,
    resultOf: ({ id, status, because, totals }) => ({ id, status, because, totals }),
  })
}

async function planOf(
  services: Services,
  shown: Shown,
  params: Params,
): Promise<{ readonly plan: ReplayPlan; readonly left: number }> {
  const [planned, resumed] = [params.maybeText('plan'), params.maybeText('resume')]
  if ((planned === undefined) === (resumed === undefined)) throw badRequest('expected one of plan and resume')
  if (planned !== undefined) {
    const job = services.jobs.get(planned)
    if (job.kind !== 'plan' || job.consumer !== shown.id || job.result === undefined) {
      throw badRequest('plan: expected a finished plan of this consumer')
    }
    return { plan: job.result, left: job.result.toHandle }
  }
  const state = await services.asking(() => worksOfShown(shown).state(resumed ?? ''))
  if (state.journal.name !== journalOf(services, state.plan.id)) {
    throw new HttpError(
      409,
      'REPLAY_REFUSED',
      `its journal is ${state.journal.name}, which this dashboard did not write: go on with it where it began, by consume-once replay resume ${state.plan.id}`,
    )
  }
  return { plan: state.plan, left: leftOf(state) }
}

export async function list(services: Services, { params }: Asked): Promise<ReplaysAnswer> {
  const shown = services.consumers.of(params)
  const now = services.clock.now()
  if (shown.definition.store.admin?.replays === undefined) return { now, replays: [] }
  const replays = (await services.asking(() => worksOfShown(shown).list())).map(workInfo)
  return { now, replays: replays.toSorted((a, b) => b.startedAt - a.startedAt) }
}

export async function one(services: Services, { params }: Asked): Promise<ReplayAnswer> {
  const shown = services.consumers.of(params)
  const id = params.text('id')
  const works = worksOfShown(shown)
  const planIn = async (): Promise<ReplayPlan | undefined> =>
    isRedriveId(id) ? undefined : (await works.state(id)).plan
  const [status, made] = await services.asking(() => Promise.all([works.status(id), planIn()]))
  const running = services.jobs
    .list()
    .find((job) => job.kind === 'replay' && job.state === 'running' && job.progress?.id === id)
  const progress = running?.kind === 'replay' ? running.progress : undefined
  const hasReport = journalHere(services, status) !== undefined
  return { now: services.clock.now(), status: workInfo(status), plan: made, progress, hasReport }
}

export async function pause(services: Services, asked: Asked): Promise<ReplayInfo> {
  return ask(services, asked, 'pause')
}

export async function abort(services: Services, asked: Asked): Promise<ReplayInfo> {
  return ask(services, asked, 'abort')
}

async function ask(services: Services, { params, principal }: Asked, request: 'pause' | 'abort'): Promise<ReplayInfo> {
  const shown = services.consumers.of(params)
  const id = params.text('id')
  const why = { by: principal.by.slice(0, 200), reason: reasonIn(params) }
  return workInfo(await services.asking(() => worksOfShown(shown)[request](id, why)))
}

const TYPES = { text: 'text/plain', md: 'text/markdown', csv: 'text/csv', json: 'application/x-ndjson' } as const

export async function report(services: Services, { params }: Asked): Promise<Response> {
  const shown = services.consumers.of(params)
  const format = params.maybeOneOf('format', REPORT_FORMATS) ?? 'text'
  const id = params.text('id')
  const status = await services.asking(() => worksOfShown(shown).status(id))
  const path = journalHere(services, status)
  if (path === undefined) {
    const { journal } = status
    const problem =
      journal === undefined
        ? `${id} was begun without a journal`
        : `the journal ${journal} is not in the folder of this dashboard`
    throw new HttpError(404, 'HTTP_NOT_FOUND', problem)
  }
  const lines = workReport(status, fileJournal(path), format)[Symbol.asyncIterator]()
  const encoder = new TextEncoder()
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await lines.next()
      if (done === true) controller.close()
      else controller.enqueue(encoder.encode(`${value}\n`))
    },
    async cancel() {
      await lines.return?.()
    },
  })
  const headers = {
    'content-type': `${TYPES[format]}; charset=utf-8`,
    'content-disposition': `attachment; filename="${isRedriveId(id) ? '' : 'replay-'}${id.replaceAll(/[^\w-]/g, '')}.${format === 'text' ? 'txt' : format}"`,
  }
  return new Response(body, { headers })
}

function worksOfShown({ entry }: Shown): Works {
  return worksOf(entry.consumer, entry.subscription)
}

function folderOf({ options }: Services): string {
  return resolve(options.journals ?? '.')
}

export function journalOf(services: Services, id: string): string {
  return join(folderOf(services), `replay.${id.replaceAll(/[^\w-]/g, '')}.journal.ndjson`)
}

/** Undefined if its report cannot be told here. */
function journalHere(services: Services, { journal }: WorkStatus): string | undefined {
  return journal !== undefined && isOwnJournal(services, journal) && existsSync(journal) ? journal : undefined
}

/** The path comes from the store: it must not make the dashboard read any file of this machine. */
function isOwnJournal(services: Services, path: string): boolean {
  return resolve(path) === path && path.startsWith(folderOf(services) + sep) && path.endsWith('.journal.ndjson')
}
