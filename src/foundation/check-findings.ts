import type { CheckFinding } from '../ports/checkup.ts'

/** What a start does about a check that is `broken`. */
export type AtStart = 'refused' | { readonly startsBecause: string }

/** Makes findings of one server. */
export interface CheckFindings<Breakable extends string> {
  readonly holds: (check: string, found: string) => CheckFinding
  readonly weaker: (check: string, found: string, meaning: string) => CheckFinding
  /** `weaker`, by a setting that the server has where nobody sets it. */
  readonly weakerByDefault: (check: string, found: string, meaning: string) => CheckFinding
  readonly unknown: (check: string, found: string, meaning: string) => CheckFinding
  /** Only for a check of the table, so that no finding is `broken` without saying what a start does about it. */
  readonly broken: (check: Breakable, found: string, meaning: string) => CheckFinding
}

/**
 * The only way to a `broken` finding. Doctor shows what these functions return, and a start refuses what `refusalsOf`
 * takes from the same findings, so the two cannot differ.
 *
 * @param system - the prefix of the checks: `redis`, `kafka`
 * @param atStart - every check of this server that can be `broken`. A word after the name (`topic missing`) tells apart
 * what one check finds
 */
export function checkFindings<Breakable extends string>(
  system: string,
  atStart: Readonly<Record<Breakable, AtStart>>,
): CheckFindings<Breakable> {
  const nameOf = (check: string): string => `${system}.${check.split(' ', 1)[0]}`
  const weaker = (check: string, found: string, meaning: string): CheckFinding => ({
    check: nameOf(check),
    verdict: 'weaker',
    found,
    meaning,
  })
  return {
    holds: (check, found) => ({ check: nameOf(check), verdict: 'holds', found, meaning: '' }),
    weaker,
    weakerByDefault: (check, found, meaning) => ({ ...weaker(check, found, meaning), isServerDefault: true }),
    unknown: (check, found, meaning) => ({ check: nameOf(check), verdict: 'unknown', found, meaning }),
    broken: (check, found, meaning) => ({
      check: nameOf(check),
      verdict: 'broken',
      found,
      meaning,
      ...(atStart[check] === 'refused' ? {} : atStart[check]),
    }),
  }
}

/** The problems for which a start is refused; empty if it may go on. What could not be read is no reason. */
export function refusalsOf(findings: readonly CheckFinding[]): string[] {
  return findings
    .filter(({ verdict, startsBecause }) => verdict === 'broken' && startsBecause === undefined)
    .map(({ found, meaning }) => `${found}. ${meaning}`)
}
