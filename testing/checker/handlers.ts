import type { EventOf } from '../history.ts'
import type { Facts } from './facts.ts'

/** A7. */
export function judgeHandlerStart(event: EventOf<'hstart'>, facts: Facts): void {
  const subject = facts.subject(event.subject)
  const owner = subject.owner(event.token)
  owner.print ??= event.print
  owner.handlerEnded = undefined
  if (owner.attempt > facts.rules.maxAttempts) {
    const says = `the handler began its attempt ${owner.attempt} of ${facts.rules.maxAttempts}`
    facts.found('A13 unknown as failure', says, { subject: subject.name })
  }
  const { running } = subject
  const alive = running.find(({ proc, crashes }) => proc.crashes === crashes)
  if (alive === undefined) running.length = 0
  else {
    const says = `the handler of ${event.token} began while that of ${alive.token} was running`
    facts.found('A7 overlap', says, { subject: subject.name })
  }
  const proc = facts.proc(event.proc)
  running.push({ token: event.token, proc, crashes: proc.crashes })
}

export function noteHandlerEnd(event: EventOf<'hend'>, facts: Facts): void {
  const subject = facts.subject(event.subject)
  subject.owner(event.token).handlerEnded = event.how
  if (event.how === 'unknown') subject.wasInDoubt = true
  if (event.how === 'failed') subject.hasFailed = true
  subject.hasEnded = true
  const at = subject.running.findIndex(({ token }) => token === event.token)
  if (at !== -1) subject.running.splice(at, 1)
}
