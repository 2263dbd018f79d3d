import type { SequenceLedger, SourceKey, SourceSwap } from '../../../src/spi.ts'
import { hexOfNumbered } from '../../sql/bytes.ts'
import type { Database } from '../../sql/database.ts'
import { answered } from '../../sql/errors.ts'
import type { PgPlace } from '../database.ts'
import { ERRORS } from '../sql-errors.ts'
import type { Tables } from '../statements/tables.ts'
import { ask } from './lease-place.ts'
import { readSources, swapSources } from './statements/sequences.ts'

/** Sources as rows of the lease table, beside the records of their messages. */
export class PgSequenceLedger implements SequenceLedger {
  readonly #database: Pick<Database<PgPlace, Tables>, 'placeOf'>

  constructor(database: Pick<Database<PgPlace, Tables>, 'placeOf'>) {
    this.#database = database
  }

  read(scope: string, sources: readonly SourceKey[]): Promise<readonly (string | undefined)[]> {
    return answered(ERRORS, 'sequences', async () => {
      const place = await this.#database.placeOf(scope)
      const keys = sources.map(hexOfNumbered)
      const rows = await ask(place, readSources, { scope: place.scope, keys })
      const texts = new Map(rows.map(({ key, rest }) => [key, rest]))
      return keys.map((key) => texts.get(key))
    })
  }

  swap(scope: string, swaps: readonly SourceSwap[]): Promise<readonly boolean[]> {
    return answered(ERRORS, 'sequences', async () => {
      const place = await this.#database.placeOf(scope)
      const keys = swaps.map(({ source }) => hexOfNumbered(source))
      const rows = await ask(place, swapSources, {
        scope: place.scope,
        lockTimeoutMs: place.lockTimeoutMs,
        keys,
        from: swaps.map(({ from = '' }) => from),
        to: swaps.map(({ to }) => to),
        keepMs: swaps.map(({ keepMs }) => keepMs),
        removed: swaps.flatMap(({ removed }) => removed.map(hexOfNumbered)),
        removedOf: swaps.flatMap(({ source, removed }) => removed.map(() => hexOfNumbered(source))),
      })
      const swapped = new Set(rows.map(({ key }) => key))
      return keys.map((key) => swapped.has(key))
    })
  }
}
