import type { Intervention, When } from '../../../testing/sim/interventions.ts'
import type { Point } from '../../../testing/sim/lives.ts'
import { CONTENDERS, type Contender } from '../engine/contenders.ts'

/** Everything that the page shows, as its address says it. */
export interface Situation {
  readonly seed: number
  readonly contender: Contender
  readonly step: number
  /** Only the added faults happen, not those of the seed. */
  readonly isQuiet: boolean
  readonly faults: readonly Intervention[]
}

export const MOST_FAULTS = 12

/** A worker is killed before the effect of one message, another after the effect of the next. */
export const FIRST: Situation = {
  seed: 119,
  contender: 'raw',
  step: 0,
  isQuiet: true,
  faults: [
    { kind: 'kill', when: { subject: 'a/m0', point: 'started', nth: 1 } },
    { kind: 'kill', when: { subject: 'a/m1', point: 'effect', nth: 1 } },
  ],
}

export function linkTo({ seed, contender, step, isQuiet, faults }: Situation): string {
  const added = faults.length === 0 ? '' : `&add=${faults.map(textOf).join(',')}`
  return `#seed=${seed}&consumer=${contender}&step=${step}${isQuiet ? '&quiet=1' : ''}${added}`
}

/** What cannot be read is left out. */
export function fromLink(hash: string): Situation {
  const link = new URLSearchParams(hash.slice(1))
  if (!link.has('seed')) return FIRST
  const seed = wholeNumber(link.get('seed')) ?? 1
  return {
    seed: Math.max(1, seed),
    contender: CONTENDERS.find((one) => one === link.get('consumer')) ?? 'raw',
    step: wholeNumber(link.get('step')) ?? 0,
    isQuiet: link.get('quiet') === '1',
    faults: (link.get('add') ?? '')
      .split(',')
      .flatMap((text) => faultOf(text) ?? [])
      .slice(0, MOST_FAULTS),
  }
}

/** `kill@m0.effect.1`, `freeze:a2@312`, `repeat:m0@m1.sent.1` */
function textOf({ kind, on, when }: Intervention): string {
  const at = 'atMs' in when ? String(when.atMs) : `${shortOf(when.subject)}.${when.point}.${when.nth}`
  return `${kind}${on === undefined ? '' : `:${shortOf(on)}`}@${at}`
}

const FAULT = /^(?<kind>kill|freeze|cut|rebalance|repeat)(?::(?<on>[am]\d{1,4}))?@(?<when>[a-z0-9.-]{1,30})$/
const AT_POINT =
  /^(?<message>m\d{1,4})\.(?<point>sent|delivered|asked|started|called|effect|ended|marked|aside|dead-letter|acked)\.(?<nth>\d{1,4})$/

function faultOf(text: string): Intervention | undefined {
  const { kind, on, when } = FAULT.exec(text)?.groups ?? {}
  const moment = when === undefined ? undefined : whenOf(when)
  if (kind === undefined || moment === undefined || (kind === 'repeat' && on === undefined)) return undefined
  const who = on?.startsWith('m') === true ? subjectOf(on) : on
  return { kind: kind as Intervention['kind'], when: moment, ...(who === undefined ? {} : { on: who }) }
}

function whenOf(text: string): When | undefined {
  const { message, point, nth } = AT_POINT.exec(text)?.groups ?? {}
  if (message !== undefined) return { subject: subjectOf(message), point: point as Point, nth: Number(nth) }
  const atMs = wholeNumber(text)
  return atMs === undefined ? undefined : { atMs }
}

function wholeNumber(text: string | null): number | undefined {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : undefined
}

/** The page has one group, `a`. */
export function subjectOf(message: string): string {
  return `a/${message}`
}

export function shortOf(subject: string): string {
  return subject.slice(subject.indexOf('/') + 1)
}
