// To which consumer a number, or a message of the live signals, belongs. Pure.

import type { ConsumerInfo, CountsAnswer, ListState, SessionInfo, StateCount } from '../api.ts'

/** Messages of all consumers in a state. At least so many: if a list is long, or a store has not answered. */
export function sumOf(counts: CountsAnswer | undefined, state: ListState): StateCount {
  const all = (counts?.consumers ?? []).map((one) => one.counts?.[state])
  const isSilent = (counts?.consumers ?? []).some(({ error }) => error !== undefined)
  return {
    count: all.reduce((sum, one) => sum + (one?.count ?? 0), 0),
    isAtLeast: isSilent || all.some((one) => one?.isAtLeast === true),
  }
}

/** The consumer that has all messages of a state; `undefined`: several have some, or several could. */
export function holderOf(
  { consumers }: Pick<SessionInfo, 'consumers'>,
  counts: CountsAnswer | undefined,
  state: ListState,
  chosen: string | undefined,
): string | undefined {
  const [only, another] = consumers
  if (another === undefined) return only?.id
  const holders = (counts?.consumers ?? []).filter((one) => (one.counts?.[state].count ?? 0) > 0)
  if (holders.length === 0) return chosen
  return holders.length === 1 ? holders[0]?.consumer : undefined
}

/** The consumer of the config that a running one is; `undefined`: it is not in the config, or several could be it. */
export function infoOf(
  { consumers }: Pick<SessionInfo, 'consumers'>,
  { consumer, group }: { readonly consumer: string; readonly group: string | undefined },
): ConsumerInfo | undefined {
  const found = consumers.filter((one) => one.name === consumer && (group === undefined || one.group === group))
  return found.length === 1 ? found[0] : undefined
}

/** Its name, or `group/name` if several have the name. */
export function titleIn({ consumers }: Pick<SessionInfo, 'consumers'>, id: string): string {
  const name = consumers.find((one) => one.id === id)?.name ?? id
  return consumers.filter((one) => one.name === name).length > 1 ? id : name
}
