import type { ConfiguredConsumer } from '../../src/index.ts'
import type { FoundMessage } from '../../src/replay/find/find.ts'
import { searchedPlaces } from '../../src/replay/find/search.ts'
import { Interrupts } from '../interrupts.ts'
import { Inquiry } from './inquiry.ts'
import type { Shown } from './show.ts'

/** Dead letters looked at in each place. */
const LETTERS = 100_000

/** A page of a list. */
export interface Listed {
  readonly records: readonly Shown[]
  readonly next: string | undefined
  /** A broker gave no answer, so dead letters may be missing. @defaultValue false */
  readonly isIncomplete?: boolean
}

/** As the dead-letter places have them: a store knows neither the idempotency key nor, for a consumer with `logIds`, the ID. */
export async function withLetters(entry: ConfiguredConsumer, { records, next }: Listed): Promise<Listed> {
  using interrupts = new Interrupts()
  const inquiry = new Inquiry(interrupts.signal)
  const keys = records.map(({ key }) => key)
  const places = records.length === 0 ? [] : searchedPlaces(entry, { topics: false })
  const found = await inquiry.find(places, { keys, lookAtMost: LETTERS, findAtMost: LETTERS })
  inquiry.tell()
  const byKey = new Map<string | undefined, FoundMessage[]>()
  for (const letter of found) byKey.set(letter.key, [...(byKey.get(letter.key) ?? []), letter])
  const withTheirs = records.map((record): Shown => {
    const letters = byKey.get(record.key) ?? []
    const { id, idempotencyKey } = letters[0] ?? {}
    return { ...record, ...(id === undefined ? {} : { ref: id }), idempotencyKey, letters }
  })
  return { records: withTheirs, next, isIncomplete: inquiry.isIncomplete }
}
