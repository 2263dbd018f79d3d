import { within } from '../../../src/internal.ts'

/** There was no answer in time. Its connection can no longer be trusted. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError'
}

/** @throws (rejects) NoAnswerError */
export function answerWithin<T>(ms: number, what: string, work: Promise<T>): Promise<T> {
  return within(ms, work, () => new NoAnswerError(`${what}: no answer within ${ms} ms`))
}
