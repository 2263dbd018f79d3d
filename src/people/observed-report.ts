import { mergedReport, type ObservedReport } from '../core/observed.ts'
import { definitionOf, type Consumer } from '../consumer/define-consumer.ts'
import { ConfigError } from '../foundation/errors.ts'
import { ofRead } from './of-read.ts'
import { readReport } from '../pipeline/batching/observation.ts'
import { checkSubscription } from './check-subscription.ts'
import type { Subscription } from '../ports/subscription.ts'
import { observedScope, scopeName } from '../consumer/scope.ts'

/** The most reports that are read: a process writes one for each of its starts. */
const MOST_REPORTS = 1_000

/**
 * What the processes of a consumer have seen in mode `observe`, as one report. It is up to 10 s old. `undefined`: none of
 * them has written a report yet. It neither opens nor closes the store.
 *
 * @throws ConfigError `CONFIG_INVALID` for a store that keeps no reports (`admin.replays`)
 */
export async function observedReport(
  consumer: Consumer,
  subscription: Pick<Subscription, 'group'>,
): Promise<ObservedReport | undefined> {
  const definition = definitionOf(consumer)
  const problems: string[] = []
  checkSubscription(subscription, { needsOrigins: false }, problems)
  const ledger = definition.store.admin?.replays
  if (ledger === undefined) problems.push('store: expected one that keeps reports (admin.replays), got one without')
  if (ledger === undefined || problems.length > 0) {
    throw new ConfigError(problems.map((problem) => `consumer ${JSON.stringify(definition.name)}: ${problem}`))
  }
  const entries = await ofRead(ledger.list(observedScope(scopeName(definition, subscription.group)), MOST_REPORTS))
  return mergedReport(entries.flatMap(({ state }) => readReport(state) ?? []))
}
