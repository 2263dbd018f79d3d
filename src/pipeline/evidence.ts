import { isMarked } from '../core/after-run.ts'
import type { MarkVerdict } from '../core/record.ts'
import type { ClaimAnswer } from '../ports/store.ts'
import type { RunEnd } from '../execution/run-end.ts'

/**
 * The reason that allows a settle: a durable mark, a record found `done`, a confirmed copy, or, where the user has chosen
 * to run without a claim, a handler that ended well. The constructor is private, so the code that settles must get the
 * evidence from the code that saw the reason. The instances are shared; none is created for a message.
 */
export class Evidence {
  static readonly #mark = new Evidence('mark')
  static readonly #done = new Evidence('done')
  static readonly #copy = new Evidence('copy')
  static readonly #run = new Evidence('run')
  readonly #of: 'mark' | 'done' | 'copy' | 'run'

  private constructor(of: 'mark' | 'done' | 'copy' | 'run') {
    this.#of = of
  }

  /** `undefined`: the mark was refused. */
  static ofMark(verdict: MarkVerdict | undefined): Evidence | undefined {
    return verdict !== undefined && isMarked(verdict) ? Evidence.#mark : undefined
  }

  static ofDone(_answer: Extract<ClaimAnswer<unknown>, { verdict: 'done' }>): Evidence {
    return Evidence.#done
  }

  /**
   * The handler ran without a claim: in mode `observe`, or while the store was down under `onStoreDown:
   * 'run-unprotected'`. `undefined`: it did not end well.
   */
  static ofRun({ result }: RunEnd): Evidence | undefined {
    return result === 'handled' || result === 'remembered' ? Evidence.#run : undefined
  }

  /** The broker has confirmed the copy. */
  static async ofCopy(confirmed: Promise<void>): Promise<Evidence> {
    await confirmed
    return Evidence.#copy
  }

  /** Checks at run time too, for callers that bypass the types. */
  static is(value: unknown): value is Evidence {
    return typeof value === 'object' && value !== null && #of in value && value.#of !== undefined
  }
}
