/**
 * How many messages with this number of attempts may run together if the end of those attempts was never seen. One of
 * them may be what kills the process, and each death counts an attempt for all that run. `all` is the limit for
 * messages without attempts. The limit shrinks by the same factor with each attempt, so that a message in its last
 * attempt runs alone: of 2000 messages and five attempts 299, 44, 6, 1.
 */
export function companyOf(
  attempts: number,
  { all, maxAttempts }: { readonly all: number; readonly maxAttempts: number },
): number {
  if (attempts <= 0) return all // mutant: suspects-all-together
  const left = maxAttempts - 1 - attempts
  return left <= 0 ? 1 : Math.max(1, Math.floor(all ** (left / (maxAttempts - 1))))
}
