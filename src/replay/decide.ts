import type { Key } from '../core/record.ts'
import type { ReplayStep } from '../core/replay.ts'
import type { Why } from '../ports/store-admin.ts'
import type { HandlingParts, Todo } from './handling-parts.ts'

type Changing = Extract<ReplayStep, 'forget' | 'reopen' | 'rerun'>

/**
 * Changes the records that a plan says to change, just before their messages run. What the store refuses, because the record has
 * changed since, is left.
 */
export async function decideFor(todo: readonly Todo[], parts: HandlingParts): Promise<readonly Todo[]> {
  const { of, options, plan } = parts
  const why: Why = {
    by: options.by,
    reason: `${reasonOf(plan.id)}: ${options.reason}`.slice(0, 1_000),
    retentionMs: of.definition.retentionMs,
  }
  const verdicts = new Map<Todo, boolean>()
  for (const step of ['forget', 'reopen', 'rerun'] as const) {
    const meant = todo.filter((one) => one.step === step)
    const changing = step === 'forget' ? await intended(meant, parts) : meant
    for (const one of meant) verdicts.set(one, true)
    if (changing.length === 0) continue
    const answers = await decide(step, changing, parts, why)
    for (const [at, one] of changing.entries()) verdicts.set(one, answers[at] !== 'refused')
  }
  return todo.map((one) => {
    const isAllowed = verdicts.get(one)
    return isAllowed === undefined ? one : { ...one, step: isAllowed ? 'handle' : 'leave' }
  })
}

/** Those whose record this run has not forgotten yet. The claim decides about the others. */
async function intended(todo: readonly Todo[], { recorder, plan, forgotten }: HandlingParts): Promise<readonly Todo[]> {
  const first = todo.filter(({ key = '' }) => !forgotten.has(key) && forgotten.add(key))
  await recorder.intend(
    first.map(({ item: { part, position }, key = '', ticket }) => ({
      replay: plan.id,
      part,
      position,
      key,
      ticket,
      intends: 'forget',
    })),
  )
  return first
}

function decide(
  step: Changing,
  changing: readonly Todo[],
  { of }: HandlingParts,
  why: Why,
): Promise<readonly string[]> {
  const keys = changing.map(({ key }) => key ?? '')
  switch (step) {
    case 'forget':
      return of.admin.forget(of.scope, keys, why)
    case 'reopen':
      return of.admin.reopen(of.scope, keys, why)
    case 'rerun':
      return of.admin.resolve(of.scope, keys, { ...why, as: 'rerun' })
  }
}

/**
 * An earlier run was killed at about the time when it forgot a record. If the audit has that decision, the record was forgotten:
 * a message that is done now ran since, and one without a record must run.
 */
export async function afterForgetting(
  todo: readonly Todo[],
  { of, plan, resumed }: HandlingParts,
): Promise<readonly Todo[]> {
  const answered: Todo[] = []
  for (const one of todo) {
    const isOpen = one.in === 'done' || one.in === 'unknown' || one.in === 'fresh'
    const isForgotten =
      isOpen && one.key !== undefined && resumed.isIntended(one.key) && (await wasForgotten(one.key, of, plan.id))
    answered.push(isForgotten ? { ...one, step: one.in === 'done' ? 'skip' : 'handle' } : one)
  }
  return answered
}

const AUDIT_PAGE = 100

async function wasForgotten(key: Key, { admin, scope }: HandlingParts['of'], id: string): Promise<boolean> {
  const page = await admin.audit?.(scope, { key, limit: AUDIT_PAGE })
  return page?.entries.some((entry) => entry.decision === 'forget' && entry.reason.startsWith(reasonOf(id))) ?? false
}

function reasonOf(id: string): string {
  return `replay ${id}`
}
