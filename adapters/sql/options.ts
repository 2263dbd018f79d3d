import { shown } from '../../src/spi.ts'

interface Common {
  readonly setup: unknown
  /** In milliseconds. */
  readonly limits: { readonly [name: string]: number | undefined }
  /** Limits that may be 0. */
  readonly mayBeNone?: readonly string[]
  /** `lockTimeoutMs` as the server counts it, which must be less than `queryTimeoutMs`. */
  readonly lockWait: { readonly ms: number; readonly unit: string }
}

/** The problems of the options that all stores on SQL have. */
export function commonProblems({ setup, limits, mayBeNone = [], lockWait }: Common): readonly string[] {
  const problems: string[] = []
  if (setup !== 'auto' && setup !== 'check') {
    problems.push(`setup: expected 'auto' or 'check', got ${JSON.stringify(setup)}`)
  }
  for (const [name, value = 1] of Object.entries(limits)) {
    const least = mayBeNone.includes(name) ? 0 : 1
    if (Number.isSafeInteger(value) && value >= least && value < 2 ** 31) continue
    problems.push(`${name}: expected a whole number of milliseconds from ${least}, got ${shown(value)}`)
  }
  const { lockTimeoutMs, queryTimeoutMs } = limits
  if (queryTimeoutMs !== undefined && lockWait.ms >= queryTimeoutMs) {
    const text = `less than queryTimeoutMs (${queryTimeoutMs})${lockWait.unit}, got ${lockTimeoutMs}`
    problems.push(`lockTimeoutMs: expected ${text}`)
  }
  return problems
}
