import type { History, HistoryEvent } from '../history.ts'
import { ADMITTED, type Anomaly } from './anomaly.ts'
import { judgeCall, judgeOpenCalls, noteCrash, noteHeal, notePause } from './calls.ts'
import type { Counterexample } from './counterexample.ts'
import { judgeDelivery } from './deliveries.ts'
import { judgeEffect } from './effects.ts'
import { judgeEnd } from './end.ts'
import { Facts } from './facts.ts'
import { judgeGrowth } from './growth.ts'
import { judgeHandlerStart, noteHandlerEnd } from './handlers.ts'
import { judgeCopy } from './dead-letters.ts'
import { judgeClaim, judgeMark, judgeRelease, judgeRenewal, judgeSetAside, noteDecision, noteLoss } from './records.ts'
import { noteSend } from './sends.ts'
import { flag, listOf, needed, oneOf, optionsOf, or, where, whole, type Table } from '../../src/foundation/options.ts'
import type { Rules } from './rules.ts'
import { judgeAck, judgeCommit } from './settles.ts'
import { judgeTold } from './tells.ts'

export interface Verdict {
  /** There is no anomaly that is not admitted. */
  readonly valid: boolean
  readonly anomalies: ReadonlyMap<Anomaly, readonly Counterexample[]>
  /** The anomalies that the rules admit. */
  readonly admitted: ReadonlySet<Anomaly>
}

const RULES: Table<Rules> = {
  promised: needed(oneOf('inbox', 'offsets', 'lease, rerun', 'lease, park', 'lease, keyed')),
  hadFaults: needed(flag()),
  maxAttempts: needed(whole()),
  mostDeliveries: needed(whole({ least: 0 })),
  admitted: or([], listOf(where('an anomaly', (name) => typeof name === 'string'))),
}

/**
 * Judges a history in one pass. Pure, and linear in the number of events.
 * @throws ConfigError `CONFIG_INVALID` for unknown rules: a mistyped one would judge by another
 */
export function check(history: History, asked: Rules): Verdict {
  const rules = optionsOf('check', RULES, asked)
  const facts = new Facts(history, rules)
  for (const event of history.events) {
    facts.index++
    judge(event, facts)
  }
  judgeEnd(history.end, facts)
  judgeOpenCalls(history.end.at, facts)
  if (facts.hasSamples) judgeGrowth(facts)
  return verdictOf(facts)
}

/** @throws TypeError for an unknown event: a mistyped one would prove nothing */
function judge(event: HistoryEvent, facts: Facts): void {
  switch (event.f) {
    case 'send':
      return noteSend(event, facts)
    case 'deliver':
      return judgeDelivery(event, facts)
    case 'claim':
      return judgeClaim(event, facts)
    case 'renew':
      return judgeRenewal(event, facts)
    case 'mark':
      return judgeMark(event, facts)
    case 'release':
      return judgeRelease(event, facts)
    case 'set-aside':
      return judgeSetAside(event, facts)
    case 'decide':
      return noteDecision(event, facts)
    case 'hstart':
      return judgeHandlerStart(event, facts)
    case 'effect':
      return judgeEffect(event, facts)
    case 'hend':
      return noteHandlerEnd(event, facts)
    case 'copy':
      return judgeCopy(event, facts)
    case 'ack':
      return judgeAck(event, facts)
    case 'commit':
      return judgeCommit(event, facts)
    case 'tell':
      return judgeTold(event, facts)
    case 'call':
      return judgeCall(event, facts)
    case 'crash':
      return noteCrash(event, facts)
    case 'pause':
      return notePause(event, facts)
    case 'heal':
      return noteHeal(event, facts)
    case 'store-loss':
      return noteLoss(event, facts)
    case 'sample':
      facts.hasSamples = true
      return
    case 'clock-jump':
    case 'rebalance':
    case 'channel-closed':
    case 'store-down':
    case 'broker-down':
      return
  }
  throw new TypeError(`a history: no such event: ${JSON.stringify(event)}`)
}

function verdictOf({ anomalies, rules }: Facts): Verdict {
  const admitted = new Set<Anomaly>()
  if (rules.hadFaults) {
    for (const anomaly of anomalies.keys()) {
      if (ADMITTED[rules.promised].includes(anomaly) || rules.admitted?.includes(anomaly) === true)
        admitted.add(anomaly)
    }
  }
  return { valid: admitted.size === anomalies.size, anomalies, admitted }
}
