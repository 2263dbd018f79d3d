import { transition, type Command, type MessageRecord } from '../../src/core/record.ts'

export const PROTOCOL_PAGE = 'docs/protocol.md'

const BLOCK = /(?<=<!-- diagram: record-states -->\n\n)```mermaid\n[\s\S]*?```/

/** The page with the diagram of what transition() does written into it. */
export function withDiagram(page: string): string {
  if (!BLOCK.test(page)) throw new Error(`${PROTOCOL_PAGE} has no place for the diagram of record states`)
  return page.replace(BLOCK, `\`\`\`mermaid\n${diagramOfStates()}\n\`\`\``)
}

const NOW = 10
const owned = { digest: 'd', fence: 1, owner: 'us', keepUntil: 100 }
const story = { reason: 'attempts-spent', attempt: 1, since: 1 }

const RECORDS: readonly MessageRecord[] = [
  { state: 'absent' },
  ...[false, true].flatMap((doubt): MessageRecord[] => [
    { ...owned, state: 'processing', attempt: 1, doubt, leaseUntil: NOW + 1 },
    { ...owned, state: 'processing', attempt: 1, doubt, leaseUntil: NOW - 1 },
    { ...owned, state: 'released', attempt: 1, doubt },
  ]),
  { ...owned, state: 'done' },
  { ...owned, ...story, state: 'given-up' },
  { digest: 'd', fence: 1, owner: 'us', ...story, state: 'parked' },
]

const COMMANDS: readonly (readonly [label: string, command: Command])[] = [
  ['claim', { command: 'claim', token: 'us', digest: 'd', leaseMs: 5, retentionMs: 100, alone: true }],
  ['mark', { command: 'mark', token: 'us', digest: 'd', fence: 1, retentionMs: 100 }],
  ['release', { command: 'release', token: 'us', refund: false, doubt: false }],
  ['set aside', { command: 'set-aside', token: 'us', as: 'given-up', reason: 'attempts-spent' }],
  ['set aside', { command: 'set-aside', token: 'us', as: 'parked', reason: 'in-doubt' }],
  ...(['done', 'rerun', 'reopen', 'forget', 'import'] as const).map((decision): [string, Command] => [
    `${decision} by a person`,
    { command: 'decide', decision, retentionMs: 100 },
  ]),
]

/** Each command that changes the state of a record whose retention has not ended, in the language of Mermaid. */
function diagramOfStates(): string {
  const labels = new Map<string, Set<string>>()
  for (const record of RECORDS) {
    for (const [label, command] of COMMANDS) {
      const { next } = transition(record, command, NOW)
      if (next.state === record.state) continue
      const edge = `${nameOf(record)} --> ${nameOf(next)}`
      labels.set(edge, (labels.get(edge) ?? new Set()).add(label))
    }
  }
  const edges = [...labels].map(([edge, names]) => `  ${edge}: ${[...names].join(', ')}`)
  return ['stateDiagram-v2', '  state "given-up" as given_up', '  [*] --> absent', ...edges].join('\n')
}

function nameOf({ state }: MessageRecord): string {
  return state.replace('-', '_')
}
