// Which dead letters a person means: the form, the words for it, and the command that means the same.

import type { JSX } from 'preact'
import { BROKER_REASONS, DEAD_LETTER_REASONS } from '../../../src/core/after-claim.ts'
import type { ConsumerInfo, Meant } from '../../api.ts'
import { linesOf, type Field, type Values } from '../components/form.tsx'
import { Command, Time } from '../components/parts.tsx'
import { useShared } from '../context.ts'
import { redriveOf } from './redrive-command.ts'

/** What `consume-once redrive` selects by. */
export const SELECTION: readonly Field[] = [
  {
    name: 'reason',
    label: 'Why they were set aside',
    kind: 'choice',
    choices: [['', 'any reason'], ...[...DEAD_LETTER_REASONS, ...BROKER_REASONS].map((one) => [one, one] as const)],
  },
  { name: 'key', label: 'Key, or idempotency key' },
  { name: 'since', label: 'Set aside since', kind: 'time' },
  { name: 'until', label: 'Set aside before', kind: 'time' },
  {
    name: 'where',
    label: 'Only where',
    hint: 'One condition a line, with = != ^= *= or |=. /tenant is a field of the payload. All must hold.',
    kind: 'lines',
    placeholder: '/tenant=acme or $message.header#/tenant=acme',
    isWide: true,
  },
]

export function meantBy({ reason, key, since, until, where }: Values): Meant {
  const conditions = linesOf(where)
  return {
    ...(reason ? { reasons: [reason] } : {}),
    ...(key ? { key } : {}),
    ...(since ? { since: new Date(since).getTime() } : {}),
    ...(until ? { until: new Date(until).getTime() } : {}),
    ...(conditions.length > 0 ? { where: conditions } : {}),
  }
}

export function SameCommand({ consumer, only }: { consumer: ConsumerInfo; only: Meant }): JSX.Element {
  const { session } = useShared()
  return (
    <Command about="The same on the command line" text={redriveOf(consumer, session.consumers, only, '--dry-run')} />
  )
}

/** What the person asked for, in words. */
export function Selected({ only }: { only: Meant }): JSX.Element {
  const { since, until, where = [], reasons = [] } = only
  return (
    <p class="row wrap">
      <strong>Only those</strong>
      {reasons.length > 0 && <span>set aside as {reasons.join(', ')}</span>}
      {since !== undefined && (
        <span>
          since <Time at={since} />
        </span>
      )}
      {until !== undefined && (
        <span>
          before <Time at={until} />
        </span>
      )}
      {where.map((condition) => (
        <code key={condition}>{condition}</code>
      ))}
    </p>
  )
}
