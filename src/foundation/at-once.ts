import { isThenable } from './thenable.ts'

/**
 * The answer of a function of the user that must answer at once.
 *
 * @param name - of the function, as the user gave it
 * @param advice - what to do instead of returning a promise
 * @throws TypeError for a promise; nobody else handles its rejection, which would end the process
 */
export function atOnce<T>(name: string, answer: T, advice: string): T {
  const problem = promiseRefused(name, answer, advice)
  if (problem !== undefined) throw new TypeError(problem)
  return answer
}

/** As `atOnce`, as text for a list of problems; `undefined`: it is no promise. */
export function promiseRefused(name: string, answer: unknown, advice: string): string | undefined {
  if (!isThenable(answer)) return undefined
  unawaited(answer)
  return `${name}: expected an answer at once, got a promise: ${advice}`
}

/** The answer of a function of the user that nobody waits for: its rejection must not end the process. */
export function unawaited(answer: unknown, failed: (error: unknown) => void = () => {}): void {
  if (isThenable(answer)) Promise.resolve(answer).then(undefined, failed)
}
