import { func, having, listOf, needed, readOptions, plainText, type Table } from '../foundation/options.ts'
import type { Subscription } from '../ports/subscription.ts'

export const SUBSCRIPTION: Table<Subscription, 'checkup' | 'replay'> = {
  group: needed(plainText()),
  origins: needed(listOf(plainText(), { least: 1, what: 'topics or queues' })),
  checkup: func(),
  replay: having('what kafkaSubscription() or rabbitSubscription() returned', 'publisher'),
}

const OF_GROUP: Table<Partial<Subscription> & Pick<Subscription, 'group'>, 'origins' | 'checkup' | 'replay'> = {
  ...SUBSCRIPTION,
  origins: listOf(plainText()),
}

/**
 * Refuses what is no subscription, or has something that a subscription has not.
 *
 * @param problems - problems are added here
 */
export function checkSubscription(
  subscription: Partial<Subscription> | undefined,
  { needsOrigins }: { readonly needsOrigins: boolean },
  problems: string[],
): void {
  const given = subscription as Subscription
  const place = { name: '', problems }
  if (needsOrigins) readOptions(SUBSCRIPTION, given, place)
  else readOptions(OF_GROUP, given, place)
}
