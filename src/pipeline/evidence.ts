import { isMarked } from '../core/decision.ts'
import type { MarkVerdict } from '../core/record.ts'
import type { ClaimAnswer } from '../ports/store.ts'

/**
 * Why a delivery may be settled: its mark is durable, its record was found `done`, or a copy in its stead is confirmed. The
 * constructor is out of reach, so whoever settles was handed one by whoever saw the reason. The three are shared: none is made
 * for a message.
 */
export class Evidence {
  static readonly #mark = new Evidence('mark')
  static readonly #done = new Evidence('done')
  static readonly #copy = new Evidence('copy')
  readonly #of: 'mark' | 'done' | 'copy'

  private constructor(of: 'mark' | 'done' | 'copy') {
    this.#of = of
  }

  /** `undefined`: the mark was refused. */
  static ofMark(verdict: MarkVerdict | undefined): Evidence | undefined {
    return verdict !== undefined && isMarked(verdict) ? Evidence.#mark : undefined
  }

  static ofDone(_answer: Extract<ClaimAnswer<unknown>, { verdict: 'done' }>): Evidence {
    return Evidence.#done
  }

  /** The broker has it, durably. */
  static async ofCopy(confirmed: Promise<void>): Promise<Evidence> {
    await confirmed
    return Evidence.#copy
  }

  /** Also of what came past the types. */
  static is(value: unknown): value is Evidence {
    return typeof value === 'object' && value !== null && #of in value && value.#of !== undefined
  }
}
