import type { EventOf, FaultEvent } from '../history.ts'
import type { Facts } from './facts.ts'
import type { OpenCall, ProcFacts } from './proc.ts'

/** L5, for calls that end too late. */
export function judgeCall(event: EventOf<'call'>, facts: Facts): void {
  const proc = facts.proc(event.proc)
  if (event.type === 'invoke') {
    const restMs = Math.max(0, proc.pausedUntil - event.at)
    proc.calls.set(event.number, { event, pausedMs: proc.pausedMsUntil(event.at) - restMs })
    return
  }
  const call = proc.calls.get(event.number)
  if (call === undefined) return
  proc.calls.delete(event.number)
  judgeTime(call, proc, event.at, facts)
}

/** L5, for calls that never ended. */
export function judgeOpenCalls(at: number, facts: Facts): void {
  for (const proc of facts.procs.values()) {
    for (const call of proc.calls.values()) judgeTime(call, proc, at, facts)
  }
}

export function noteCrash(event: FaultEvent, facts: Facts): void {
  const proc = facts.proc(event.proc)
  proc.crashes++
  proc.calls.clear()
  endPause(proc, event.at)
}

export function notePause(event: FaultEvent, facts: Facts): void {
  const proc = facts.proc(event.proc)
  if (event.forMs === undefined) proc.pausedSince ??= event.at
  else {
    proc.pausedMs += event.forMs
    proc.pausedUntil = Math.max(proc.pausedUntil, event.at + event.forMs)
  }
}

export function noteHeal(event: FaultEvent, facts: Facts): void {
  for (const proc of facts.procs.values()) endPause(proc, event.at)
}

function endPause(proc: ProcFacts, at: number): void {
  proc.pausedMs = proc.pausedMsUntil(at)
  proc.pausedSince = undefined
}

function judgeTime({ event, pausedMs }: OpenCall, proc: ProcFacts, at: number, facts: Facts): void {
  const { withinMs, call, number } = event
  const tookMs = at - event.at - (proc.pausedMsUntil(at) - pausedMs)
  if (withinMs === undefined || tookMs <= withinMs) return
  facts.found('L5 hang', `${call} of ${proc.name} did not end within ${withinMs} ms`, {
    call: { proc: proc.name, number },
  })
}
