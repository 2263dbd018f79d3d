import type { ListQuery } from '../../src/internal.ts'

/** Records that one step looks at. It takes well under a second. */
const RECORDS_PER_STEP = 50_000

/** Keys are in hex. */
export interface ListedFrom extends Pick<ListQuery, 'state' | 'limit'> {
  /** Empty for the first page. */
  readonly after: string
  readonly lookAtMost: number
}

export interface Step {
  /** Empty for the first step. */
  readonly after: string
  /** The most records to look at, and to return. */
  readonly most: number
  readonly limit: number
}

/** What lies between the key before a step and the last key that it looked at. */
export interface Looked {
  readonly looked: number
  /** `undefined`: there are no more records. */
  readonly last: string | undefined
}

/** The answer of a server: how many of the `most` next records there are, and the key of the last one, in hex. */
export interface Ahead {
  /** Text if the pool returns `bigint` as text. */
  readonly looked: number | string
  /** `null`: no record is ahead. */
  readonly last: string | null
}

export function lookedTo(ahead: Ahead | undefined, most: number): Looked {
  const looked = Number(ahead?.looked ?? 0)
  return { looked, last: looked === most ? (ahead?.last ?? undefined) : undefined }
}

export interface StepTaken<Row> extends Looked {
  /** In the order of keys. */
  readonly rows: readonly Row[]
}

/** Looks at records step by step, until the page is full or it has looked at enough. `next` is the last key of the page, if there may be more. */
export async function inSteps<Row extends { readonly key: string }>(
  { after, limit, lookAtMost }: Omit<ListedFrom, 'state'>,
  take: (step: Step) => Promise<StepTaken<Row>>,
): Promise<{ readonly rows: readonly Row[]; readonly looked: number; readonly next: string | undefined }> {
  const rows: Row[] = []
  let looked = 0
  let from: string | undefined = after
  while (from !== undefined && looked < lookAtMost && rows.length <= limit) {
    const most = Math.min(RECORDS_PER_STEP, lookAtMost - looked)
    // One more than the page has shows whether there is a next one.
    const step: StepTaken<Row> = await take({ after: from, most, limit: limit + 1 - rows.length })
    const shown = step.rows.slice(0, limit - rows.length)
    rows.push(...shown)
    // The next page looks again at what is behind its beginning.
    if (shown.length < step.rows.length) return { rows, looked: looked + shown.length, next: rows.at(-1)?.key }
    looked += step.looked
    from = step.last
  }
  return { rows, looked, next: from }
}
