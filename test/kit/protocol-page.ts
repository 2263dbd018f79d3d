import { afterClaim, type AfterClaim, type Policy } from '../../src/core/after-claim.ts'
import type { Command, MessageRecord } from '../../src/core/record.ts'
import { transition } from '../../src/core/transition.ts'

export const PROTOCOL_PAGE = 'docs/protocol.md'

/** The page with the diagrams of what transition() and afterClaim() do written into it. */
export function withDiagrams(page: string): string {
  return withDiagram(withDiagram(page, 'record-states', diagramOfStates()), 'verdicts', diagramOfVerdicts())
}

function withDiagram(page: string, name: string, diagram: string): string {
  const block = new RegExp(`(?<=<!-- diagram: ${name} -->\\n\\n)\`\`\`mermaid\\n[\\s\\S]*?\`\`\``)
  if (!block.test(page)) throw new Error(`${PROTOCOL_PAGE} has no place for the diagram ${name}`)
  return page.replace(block, `\`\`\`mermaid\n${diagram}\n\`\`\``)
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

type Answer = Parameters<typeof afterClaim>[0]

const FIRST = { fence: 1, attempt: 1 }
const SPENT = { fence: 1, attempt: 6 }
const RERUN: Policy = { maxAttempts: 5, onInDoubt: 'rerun', onBeyondRetention: 'run' }

/** The answers of a claim that are told apart, with the condition under which they lead on. */
const ANSWERS: readonly (readonly [answer: Answer, condition: string, policy?: Partial<Policy>, isOld?: true])[] = [
  [{ verdict: 'claimed', ...FIRST }, ''],
  [{ verdict: 'claimed', ...SPENT }, 'attempts spent'],
  [{ verdict: 'claimed', ...FIRST }, 'too old: park', { onBeyondRetention: 'park' }, true],
  [{ verdict: 'claimed', ...FIRST }, 'too old: skip', { onBeyondRetention: 'skip' }, true],
  [{ verdict: 'taken-over', ...FIRST }, 'onInDoubt rerun'],
  [{ verdict: 'taken-over', ...SPENT }, 'attempts spent'],
  [{ verdict: 'taken-over', ...FIRST }, 'onInDoubt park', { onInDoubt: 'park' }],
  [{ verdict: 'taken-over', ...FIRST }, 'onInDoubt function', { onInDoubt: 'reconcile' }],
  [{ verdict: 'in-doubt' }, ''],
  [{ verdict: 'again-alone', attempts: 1 }, ''],
  [{ verdict: 'busy', leaseLeftMs: 1 }, ''],
  [{ verdict: 'done' }, ''],
  [{ verdict: 'conflict' }, ''],
  [{ verdict: 'given-up', ...story }, ''],
  [{ verdict: 'parked', ...story }, ''],
  [{ verdict: 'unreadable', found: 'x' }, ''],
  [{ verdict: 'behind' }, ''],
]

/** The step after each verdict, in the language of Mermaid. */
function diagramOfVerdicts(): string {
  const edges = ANSWERS.map(([answer, condition, policy, isOld = false]) => {
    const step = afterClaim(answer, { ...RERUN, ...policy }, isOld)
    const arrow = condition === '' ? '-->' : `-->|${condition}|`
    return `  ${answer.verdict}([${answer.verdict}]) ${arrow} ${idOf(step)}[${STEPS[step.next](step)}]`
  })
  return ['flowchart LR', ...edges].join('\n')
}

function idOf(step: AfterClaim): string {
  return step.next === 'set-aside' ? `set-aside-${step.as}` : step.next
}

const STEPS: Readonly<Record<AfterClaim['next'], (step: AfterClaim) => string>> = {
  handle: () => 'run the handler',
  reconcile: () => 'ask your function',
  skip: () => 'mark without a run, settle',
  'settle-duplicate': () => 'settle as duplicate',
  wait: () => 'wait in the lane, claim again',
  'claim-alone': () => 'claim again, apart from new messages',
  rewind: () => 'read again from the stored position',
  'set-aside': (step) => `set aside as ${step.next === 'set-aside' ? step.as : ''}, dead-letter, settle`,
  'dead-letter': () => 'dead-letter, settle, leave the record',
}
