import type { Intervention, When } from '../../../testing/sim/interventions.ts'
import type { Point } from '../../../testing/sim/lives.ts'
import { shortOf } from './link.ts'

const POINTS: Readonly<Record<Point, string>> = {
  sent: 'MESSAGE is sent',
  delivered: 'MESSAGE is delivered',
  asked: 'the store answers for MESSAGE',
  started: 'the handler of MESSAGE starts',
  called: 'the handler of MESSAGE calls the provider',
  effect: 'the effect of MESSAGE happens',
  ended: 'the handler of MESSAGE ends',
  marked: 'MESSAGE is marked',
  aside: 'MESSAGE is set aside',
  'dead-letter': 'the dead letter of MESSAGE is confirmed',
  acked: 'MESSAGE is acked',
}

/** One line for the list of added faults. */
export function faultText({ kind, on, when }: Intervention): string {
  return `${actText(kind, on)} ${whenText(when)}`
}

function actText(kind: Intervention['kind'], on: string | undefined): string {
  const worker = on === undefined ? 'its worker' : `worker ${shortOf(on)}`
  switch (kind) {
    case 'kill':
      return `Kill ${worker}`
    case 'freeze':
      return `Freeze ${worker} for longer than its lease`
    case 'cut':
      return `Cut the connection of ${worker}`
    case 'rebalance':
      return 'Rebalance the group'
    case 'repeat':
      return `Send ${shortOf(on ?? '')} again`
  }
}

function whenText(when: When): string {
  if ('atMs' in when) return `at ${when.atMs} ms`
  const times = when.nth === 1 ? '' : `, time ${when.nth}`
  return `right after ${POINTS[when.point].replace('MESSAGE', shortOf(when.subject))}${times}`
}
