import { between, type Random } from './seeded.ts'

/** Share of the messages that come again later, with the same ID and payload. */
const SENT_TWICE = 0.05
const MOST_IN_ONE_SEND = 60

interface Numbers {
  readonly from: number
  readonly below: number
  readonly step: number
}

/** Which messages go in one send, and in the next one: all of them in turn, some once more. */
export function* sendsOf(random: Random, { from, below, step }: Numbers): Generator<readonly number[], void> {
  let again: number[] = []
  for (let next = from; next < below || again.length > 0;) {
    const numbers = again.splice(0, between(random, 0, again.length))
    for (let room = between(random, 1, MOST_IN_ONE_SEND); room > 0 && next < below; room--) {
      numbers.push(next)
      next += step
    }
    const isLast = next >= below
    if (isLast) numbers.push(...again.splice(0))
    yield numbers
    if (!isLast) again = again.concat(numbers.filter(() => random() < SENT_TWICE))
  }
}
