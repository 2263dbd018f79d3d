import { checkNames, checkText } from '../foundation/option-checks.ts'
import type { Subscription } from '../ports/subscription.ts'

const SUBSCRIPTION: Record<keyof Subscription, true> = { group: true, origins: true, checkup: true, replay: true }

/**
 * Refuses what is no subscription, or has something that a subscription has not.
 *
 * @param of - the function that got it
 * @param problems - problems are added here
 */
export function checkSubscription(
  subscription: Partial<Subscription> | undefined,
  { of, needsOrigins }: { readonly of: string; readonly needsOrigins: boolean },
  problems: string[],
): void {
  const given = typeof subscription === 'object' && subscription !== null ? subscription : {}
  checkNames('', given, { of, known: SUBSCRIPTION }, problems)
  const { group, origins } = given
  checkText('group', group, problems)
  if (origins === undefined ? !needsOrigins : Array.isArray(origins) && origins.length > 0) {
    for (const origin of origins ?? []) checkText('origins', origin, problems)
  } else {
    problems.push(`origins: expected at least one topic or queue, in a list, got ${gotOf(origins)}`)
  }
}

function gotOf(origins: unknown): string {
  return origins === undefined || Array.isArray(origins) ? 'none' : JSON.stringify(origins)
}
