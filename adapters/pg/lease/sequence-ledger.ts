import type { OpenTransaction, SequenceLedger, SourceKey, SourceSwap } from '../../../src/internal.ts'
import { hexOfNumbered } from '../../sql/bytes.ts'
import { ClaimTransaction } from '../../sql/claim-transaction.ts'
import type { Database } from '../../sql/database.ts'
import { answered } from '../../sql/errors.ts'
import type { PgPlace } from '../database.ts'
import { ERRORS } from '../sql-errors.ts'
import type { Statement } from '../statements/statement.ts'
import type { Tables } from '../statements/tables.ts'
import { ask } from './ask.ts'
import type { LeaseKeys } from './statements/parts.ts'
import type { SourceRow, SwapSources } from './statements/sequences.ts'

/** The statements of sources, which are rows beside the records of their messages: of leases, or of an inbox. */
export interface SourceStatements {
  readonly read: (tables: Tables, asked: Pick<LeaseKeys, 'scope' | 'keys'>) => Statement<SourceRow>
  readonly swap: (tables: Tables, swap: SwapSources) => Statement<Pick<SourceRow, 'key'>>
}

export class PgSequenceLedger implements SequenceLedger {
  readonly #database: Pick<Database<PgPlace, Tables>, 'placeOf'>
  readonly #statements: SourceStatements

  constructor(database: Pick<Database<PgPlace, Tables>, 'placeOf'>, statements: SourceStatements) {
    this.#database = database
    this.#statements = statements
  }

  read(
    scope: string,
    sources: readonly SourceKey[],
    transaction?: OpenTransaction<unknown>,
  ): Promise<readonly (string | undefined)[]> {
    return answered(ERRORS, 'sequences', async () => {
      const place = await this.#database.placeOf(scope)
      const keys = sources.map(hexOfNumbered)
      const asked = { scope: place.scope, keys }
      const { read } = this.#statements
      const rows =
        transaction instanceof ClaimTransaction
          ? await transaction.read(read(place.tables, asked))
          : await ask(place, read, asked)
      const texts = new Map(rows.map(({ key, rest }) => [key, rest]))
      return keys.map((key) => texts.get(key))
    })
  }

  swap(scope: string, swaps: readonly SourceSwap[]): Promise<readonly boolean[]> {
    return answered(ERRORS, 'sequences', async () => {
      const place = await this.#database.placeOf(scope)
      const keys = swaps.map(({ source }) => hexOfNumbered(source))
      const rows = await ask(place, this.#statements.swap, {
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
