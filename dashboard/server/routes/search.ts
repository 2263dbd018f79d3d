import type { ConfiguredConsumer } from '../../../src/people/config.ts'
import { searchNote } from '../../../src/replay/find/search-note.ts'
import type { Note } from '../../../src/ports/store-admin.ts'
import { keyIn } from '../../../src/records/key-in.ts'
import { parseCondition } from '../../../src/replay/expression.ts'
import { startJob, type Job } from '../../../src/replay/job.ts'
import { setAsideBy } from '../../../src/replay/find/find.ts'
import {
  search,
  searchedPlaces,
  type SearchedPlace,
  type SearchHow,
  type SearchProgress,
  type SearchResult,
} from '../../../src/replay/find/search.ts'
import type { JobInfo, SearchedMessage, SearchFound } from '../../api.ts'
import type { Shown } from '../consumers.ts'
import { badRequest, HttpError } from '../http-error.ts'
import { noted } from '../noted.ts'
import type { Params } from '../params.ts'
import type { Asked, Services } from '../services.ts'

/** Messages that are shown, of each place. */
const SHOWN = 100
const MOST_LOOKED_AT = 100_000
const MOST_KEYS = 500
const MOST_CONDITIONS = 20
const EVER = { least: 0, most: Number.MAX_SAFE_INTEGER }

/** A consumer of the config, as `search` takes it. */
interface Entry extends ConfiguredConsumer {
  readonly shown: Shown
}

type Found = Omit<SearchFound, 'unnoted'>

export async function searchMessages(services: Services, { params, principal }: Asked): Promise<JobInfo> {
  const asked = askedIn(params)
  const chosen = chosenOf(services, params.maybeTexts('consumers', services.consumers.all.length))
  const places: SearchedPlace<Entry>[] = []
  const problems: Found['problems'][number][] = []
  for (const shown of chosen) {
    const problem = whyNot(shown, principal.readOnly)
    if (problem === undefined) places.push(...searchedPlaces({ ...shown.entry, shown }, asked))
    else problems.push({ consumer: shown.id, ...problem })
  }
  if (places.length === 0 && problems.length === 0) {
    throw badRequest('these consumers have no dead-letter place that can be read, and no topics were asked for')
  }
  const { how, noteBy } = asked
  const by = principal.by.slice(0, 200)
  const note = noteBy(by)
  return services.jobs.start({
    kind: 'search',
    consumer: chosen.map(({ id }) => id).join(', '),
    by,
    job: () =>
      searching(places, how(services), async () => {
        if (note === undefined) return []
        const searched = new Set(places.map(({ entry }) => entry.shown))
        const all = await Promise.all(
          [...searched].map(async (shown) => ({ id: shown.id, why: await noted(services, shown, note) })),
        )
        return all.flatMap(({ id, why }) => (why === undefined ? [] : [`${id}: ${why}`]))
      }),
    progressOf: (progress: SearchProgress) => progress,
    resultOf: ({ result, unnoted }) => ({ ...foundIn(result, problems), unnoted }),
  })
}

interface SearchAsked {
  readonly topics: boolean
  readonly how: (services: Services) => SearchHow
  readonly noteBy: (person: string) => Note | undefined
}

function askedIn(params: Params): SearchAsked {
  const text = params.maybeText('text') || undefined
  const where = params.maybeTexts('where', MOST_CONDITIONS) ?? []
  const keys = params.maybeTexts('keys', MOST_KEYS)?.map((one) => {
    const key = keyIn(one)
    if (key === undefined)
      throw badRequest('keys: expected keys of 22 characters (of sequences: 36), or idempotency keys of 43')
    return key
  })
  if (text === undefined && where.length === 0 && keys === undefined) {
    throw badRequest('expected text, where or keys: what to search for')
  }
  for (const one of where) {
    const condition = parseCondition(one)
    if (typeof condition === 'string') throw badRequest(`where: ${condition}`)
  }
  const topics = params.maybeTrue('topics') ?? false
  const [since, until] = [params.maybeWhole('since', EVER), params.maybeWhole('until', EVER)]
  if (topics && since === undefined) throw badRequest('since: expected a time, as topics are long')
  if (since !== undefined && until !== undefined && since >= until)
    throw badRequest('until: expected a later time than since')
  const lookAtMost = params.maybeWhole('max', { least: 1, most: MOST_LOOKED_AT }) ?? MOST_LOOKED_AT
  const findAtMost = keys === undefined ? SHOWN : 2 * MOST_KEYS
  return {
    topics,
    noteBy: (by) => searchNote({ by, where, text, places: `dead letters${topics ? ' and topics' : ''}`, since, until }),
    how: ({ clock }) => ({ selection: { where, since, until }, text, keys, lookAtMost, findAtMost, clock }),
  }
}

function chosenOf({ consumers }: Services, ids: readonly string[] | undefined): readonly Shown[] {
  if (ids === undefined) return consumers.all
  return ids.map((id) => {
    const found = consumers.all.find((one) => one.id === id)
    if (found === undefined)
      throw new HttpError(404, 'HTTP_NOT_FOUND', `no consumer ${JSON.stringify(id)} in the config`)
    return found
  })
}

/** A queue counts each reading as a delivery. */
function whyNot(
  { admin, readingChanges }: Shown,
  readOnly: boolean,
): { readonly code: string; readonly message: string } | undefined {
  if (admin === undefined) return { code: 'CONFIG_INVALID', message: 'its store has no record for each message' }
  if (!readOnly || !readingChanges) return undefined
  const message = 'this dashboard is read-only, and a queue counts each reading as a delivery: use `consume-once find`'
  return { code: 'HTTP_READ_ONLY', message }
}

interface Searched {
  readonly result: SearchResult<Entry>
  readonly unnoted: readonly string[]
}

/** Noted before anything is read. */
function searching(
  places: readonly SearchedPlace<Entry>[],
  how: SearchHow,
  note: () => Promise<readonly string[]>,
): Job<SearchProgress, Searched> {
  return startJob('the search', async (control) => {
    const { signal } = control
    const unnoted = await note()
    const job = search(places, how)
    const stop = (): void => job.stop()
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    for await (const progress of job) control.tell(progress)
    return { result: await job.result, unnoted }
  })
}

function foundIn({ messages, looked, ...result }: SearchResult<Entry>, before: Found['problems']): Found {
  return {
    messages: messages.map(({ entry, message }): SearchedMessage => {
      const { from, part, position, id, key, idempotencyKey, state, deadLetter, timestamp, isConflict } = message
      return {
        consumer: entry.shown.id,
        from,
        at: entry.shown.readingChanges ? undefined : `${part}/${position}`,
        id,
        key,
        idempotencyKey,
        state,
        reason: deadLetter?.reason,
        since: deadLetter?.since ?? timestamp,
        by: deadLetter === undefined ? undefined : setAsideBy(deadLetter),
        isConflict,
      }
    }),
    looked: looked.map(({ entry, from, looked: count, of, lacking, warnings }) => ({
      consumer: entry.shown.id,
      from,
      looked: count,
      of,
      lacking: lacking.undated + lacking['no-field'] + lacking['no-reason'],
      warnings,
    })),
    problems: [
      ...before,
      ...result.problems.map(({ entry, code, text }) => ({ consumer: entry.shown.id, code, message: text })),
    ],
    stopped: result.stopped,
  }
}
