// The command that redrives what a person means. Pure.

import { command, quoted } from '../../../src/people/command-text.ts'
import type { ConsumerInfo, Meant, RedriveResult } from '../../api.ts'

type Named = Pick<ConsumerInfo, 'id' | 'name'>

/** `more`: further options. `--` ends them before an ID that begins with a hyphen. */
export function redriveOf(
  consumer: Named,
  consumers: readonly Named[],
  { id, key, since, until, where = [], reasons = [] }: Meant,
  more: string,
): string {
  const isHyphened = id?.startsWith('-') === true
  const rest = [
    ...(id === undefined || isHyphened ? [] : [quoted(id)]),
    ...(key === undefined ? [] : [`--key=${key}`]),
    ...reasons.map((reason) => `--reason-is ${quoted(reason)}`),
    ...(since === undefined ? [] : [`--since ${new Date(since).toISOString()}`]),
    ...(until === undefined ? [] : [`--until ${new Date(until).toISOString()}`]),
    ...where.map((condition) => `--where ${quoted(condition)}`),
    more,
    ...(isHyphened ? [`-- ${quoted(id)}`] : []),
  ]
  return command('redrive', consumer, consumers, rest.join(' '))
}

/** Options that allow what came from elsewhere to go back there. */
export function allowing(refused: RedriveResult['refusedDestinations']): string {
  return Object.keys(refused)
    .map((from) => `--allow-destination=${quoted(from)}`)
    .join(' ')
}
