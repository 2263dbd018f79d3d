/**
 * How many messages may run together that so many attempts are counted of, whoever saw none of them end: one of them may be what kills
 * the process, and an attempt is counted of all that run when it dies. `all`: of those without. The share that is left gets smaller
 * by the same factor with each attempt, so that the last one is alone: of 2000 messages and five attempts 299, 44, 6, 1.
 */
export function companyOf(
  attempts: number,
  { all, maxAttempts }: { readonly all: number; readonly maxAttempts: number },
): number {
  if (attempts <= 0) return all
  const left = maxAttempts - 1 - attempts
  return left <= 0 ? 1 : Math.max(1, Math.floor(all ** (left / (maxAttempts - 1))))
}
