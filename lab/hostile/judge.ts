import { json, type Store } from '../../src/index.ts'
import type { Ending, Ledger } from './ledger.ts'
import { nameOf, type Sending } from './plan.ts'
import type { FoundDeadLetter } from './stage.ts'

const decode = json()

type Strategy = Store<unknown>['strategy']

interface ChapterOptions {
  /** `first`: nothing of it was handled before. `again`: all of it was, and what could not be has its dead letter. */
  readonly chapter: 'first' | 'again'
  readonly strategy: Strategy
  /** How often each message was sent. */
  readonly times: ReadonlyMap<number, number>
}

/** Broken promises of a chapter of a run, one sentence each. Empty: it kept all. */
export function judgeChapter(plan: readonly Sending[], ledger: Ledger, options: ChapterOptions): readonly string[] {
  const { chapter, strategy, times } = options
  const findings = ledger.unknown.map((position) => `a delivery that was never sent, at ${position}`)
  for (const sending of plan) {
    const [sent, endings] = [times.get(sending.number) ?? 0, ledger.endingsOf(sending.number)]
    const expected = endingsOf(sending, strategy)
    if (endings.length === sent && endings.every((ending) => expected.includes(show(ending)))) continue
    findings.push(
      `${nameOf(sending)}: expected ${sent} x ${expected.join(' or ')}, got ${endings.map(show).join(', ')}`,
    )
  }
  for (const same of identitiesOf(plan)) {
    const [first] = same
    const wasSent = same.some(({ number }) => times.has(number))
    const isFresh = chapter === 'first' || strategy === 'offsets'
    const expected = wasSent && isFresh ? runsOf(same, strategy) : 0
    const handled = sumOf(
      same,
      ({ number }) => ledger.endingsOf(number).filter(({ outcome }) => outcome === 'handled').length,
    )
    if (handled !== expected)
      findings.push(`${nameOf(first)}: expected to be handled ${expected} times, got ${handled}`)
    // A repeated transaction is rolled back, so only the database knows its effects.
    const effects = strategy === 'lease' ? sumOf(same, ({ number }) => ledger.effectsOf(number)) : expected
    if (effects !== expected) findings.push(`${nameOf(first)}: expected ${expected} effects, got ${effects}`)
  }
  return findings
}

/** The dead-letter place holds each refused message as often as it was refused, with the reason, byte for byte. */
export function judgeDeadLetters(
  plan: readonly Sending[],
  deadLetters: readonly FoundDeadLetter[],
  { times, strategy }: { readonly times: number; readonly strategy: Strategy },
): readonly string[] {
  const findings: string[] = []
  for (const sending of plan) {
    const refusal = refusalOf(sending, strategy)
    const found = deadLetters.filter(({ number }) => number === sending.number)
    const expected = refusal === undefined ? 0 : times
    if (found.length !== expected)
      findings.push(`${nameOf(sending)}: expected ${expected} dead letters, found ${found.length}`)
    for (const { reason, value } of found) {
      if (reason !== refusal) findings.push(`${nameOf(sending)}: its dead letter says ${reason}, expected ${refusal}`)
      if (!isSame(value, sending.value)) findings.push(`${nameOf(sending)}: its dead letter has another value`)
    }
  }
  const lost = deadLetters.filter(({ number }) => number === undefined)
  return [...findings, ...lost.map(({ reason }) => `a dead letter of no message that was sent, ${reason}`)]
}

/** The database has an effect for each message that was to run, of those that are the same for one, and no other. */
export function judgeCommitted(
  plan: readonly Sending[],
  committed: readonly string[],
  strategy: Strategy,
): readonly string[] {
  const times = strategy === 'offsets' ? 2 : 1
  const known = new Set(plan.map(({ number }) => String(number)))
  const unknown = committed.filter((effect) => !known.has(effect))
  const wrong = identitiesOf(plan).flatMap((same) => {
    const expected = runsOf(same, strategy) * times
    const found = sumOf(same, ({ number }) => committed.filter((effect) => effect === String(number)).length)
    return found === expected ? [] : [`${nameOf(same[0])}: expected ${expected} committed effects, found ${found}`]
  })
  return [...wrong, ...unknown.map((effect) => `an effect of no message that was sent: ${effect}`)]
}

function endingsOf(sending: Sending, strategy: Strategy): readonly string[] {
  const refusal = refusalOf(sending, strategy)
  if (refusal !== undefined) return [`dead-lettered ${refusal}`]
  return strategy === 'offsets' ? ['handled'] : ['handled', 'duplicate', 'joined']
}

/** Why it is never run, under this strategy. */
function refusalOf({ must, value }: Sending, strategy: Strategy): string | undefined {
  if (typeof must === 'object' || must === 'run') return undefined
  // A message is its position there: it needs no ID, and nothing else can lie at its place. So it is read.
  if (strategy === 'offsets' && (must === 'no-id' || must === 'conflict')) {
    return isReadable(value) ? undefined : 'undecodable'
  }
  return must
}

/** How often these are handled, all together, where nothing of them was before. */
function runsOf(same: readonly Sending[], strategy: Strategy): number {
  if (strategy === 'offsets') return same.filter((sending) => refusalOf(sending, strategy) === undefined).length
  return same[0]?.must === 'run' ? 1 : 0
}

type Same = readonly [Sending, ...Sending[]]

/** Messages that are one. Which of them is handled is not said: with a retry place the second may come before the first again. */
function identitiesOf(plan: readonly Sending[]): readonly Same[] {
  const groups = new Map<number, [Sending, ...Sending[]]>()
  for (const sending of plan) {
    const group = groups.get(sending.identity)
    if (group === undefined) groups.set(sending.identity, [sending])
    else group.push(sending)
  }
  return [...groups.values()]
}

function sumOf(same: Same, count: (sending: Sending) => number): number {
  return same.reduce((sum, sending) => sum + count(sending), 0)
}

function isReadable(value: Buffer | null): boolean {
  try {
    decode(value, undefined as never)
    return true
  } catch {
    return false
  }
}

function show({ outcome, reason }: Ending): string {
  return outcome === 'dead-lettered' ? `${outcome} ${reason}` : outcome
}

function isSame(one: Buffer | null, other: Buffer | null): boolean {
  return one === null || other === null ? one === other : one.equals(other)
}
