import type { JSX } from 'preact'
import type { ConsumerInfo, PlanRequest, ReplayRules } from '../../api.ts'
import type { Lack } from '../../../src/core/replay.ts'
import type { Failure } from '../client.ts'
import { Form, linesOf, type Field, type Values } from './form.tsx'

const LACKS: readonly (readonly [Lack, string])[] = [
  ['undated', 'Take what has no usable time'],
  ['no-field', 'Take what lacks a field of a condition'],
  ['no-reason', 'Take what tells no reason'],
]

/** What `consume-once replay plan` has, too. */
function fieldsOf(consumer: ConsumerInfo, from: string): readonly Field[] {
  const positions: readonly Field[] = [
    { name: 'fromPosition', label: 'From offset', hint: 'In each partition; a place may be kafka:topic@partition.' },
    { name: 'toPosition', label: 'Before offset', hint: 'In each partition.' },
  ]
  return [
    {
      name: 'from',
      label: 'Read from',
      kind: 'suggest',
      value: from,
      isRequired: true,
      choices: consumer.places.map((place) => [place, '']),
    },
    { name: 'since', label: 'Arrived since', kind: 'time' },
    { name: 'until', label: 'Arrived before', kind: 'time' },
    { name: 'max', label: 'At most', kind: 'number', placeholder: '100000' },
    { name: 'ids', label: 'Only these IDs', kind: 'lines', placeholder: 'one a line; empty: all' },
    {
      name: 'unknown',
      label: 'No record, and nothing is proven',
      kind: 'choice',
      choices: [
        ['refuse', 'refuse to start'],
        ['skip', 'skip them'],
        ['handle', 'handle them: an effect may happen twice'],
      ],
    },
    { name: 'givenUp', label: 'Handle what was given up, too', kind: 'check', isWide: true },
    {
      name: 'where',
      label: 'Only where',
      hint: 'One condition a line, with = != ^= *= or |=. All must hold.',
      kind: 'lines',
      placeholder: '$message.payload#/tenant=acme',
      isRare: true,
    },
    {
      name: 'groupBy',
      label: 'Count the different values of',
      hint: 'A field of the message.',
      placeholder: '$message.payload#/to',
      isRare: true,
    },
    {
      name: 'reasons',
      label: 'Dead letters: only these reasons',
      kind: 'lines',
      placeholder: 'one a line; empty: all',
      isRare: true,
    },
    ...(consumer.system === 'kafka' ? positions.map((field) => ({ ...field, isRare: true })) : []),
    {
      name: 'inDoubt',
      label: 'In doubt',
      kind: 'choice',
      choices: [
        ['leave', 'leave them'],
        ['rerun', 'run them: an effect may happen twice'],
      ],
      isRare: true,
    },
    ...LACKS.map(([name, label]): Field => ({ name, label, kind: 'check', isWide: true, isRare: true })),
    { name: 'maxReplays', label: 'Leave what was replayed as often', placeholder: '2', isRare: true },
    { name: 'again', label: 'Let what is done happen AGAIN', kind: 'check', isWide: true, isRare: true },
  ]
}

export function PlanForm({
  consumer,
  from,
  isRunning,
  failure,
  onPlan,
}: {
  consumer: ConsumerInfo
  from: string
  isRunning: boolean
  failure: Failure | undefined
  onPlan: (request: PlanRequest) => void
}): JSX.Element {
  return (
    <Form
      class="card"
      fields={fieldsOf(consumer, from)}
      submit="Make the plan"
      isOff={isRunning}
      failure={failure}
      onSubmit={(typed) => onPlan({ consumer: consumer.id, ...requestOf(typed) })}
    />
  )
}

/** An offset, a condition and a field are checked by the server. */
function requestOf(typed: Values): Omit<PlanRequest, 'consumer'> {
  const { from = '', since, until, max, fromPosition, toPosition, groupBy, maxReplays } = typed
  const include = LACKS.map(([lack]) => lack).filter((lack) => typed[lack])
  const lines = ['ids', 'where', 'reasons'].map((name) => [name, linesOf(typed[name])] as const)
  return {
    from,
    ...(since ? { since: new Date(since).getTime() } : {}),
    ...(until ? { until: new Date(until).getTime() } : {}),
    ...(max ? { max: Number(max) } : {}),
    ...(fromPosition ? { fromPosition } : {}),
    ...(toPosition ? { toPosition } : {}),
    ...(groupBy ? { groupBy } : {}),
    ...Object.fromEntries(lines.filter(([, some]) => some.length > 0)),
    ...(include.length > 0 ? { include } : {}),
    rules: {
      unknown: typed['unknown'] as ReplayRules['unknown'],
      givenUp: typed['givenUp'] ? 'handle' : 'skip',
      inDoubt: typed['inDoubt'] as ReplayRules['inDoubt'],
      ...(maxReplays ? { maxReplays: Number(maxReplays) } : {}),
      ...(typed['again'] ? { again: true } : {}),
    },
  }
}
