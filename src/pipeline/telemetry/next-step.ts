import type { ObserverEvent } from '../../ports/observer.ts'

type DeliveryEvent = Extract<ObserverEvent, { type: 'delivery' }>

/** The next step of a person for a message that was not handled, as a command; `undefined` if there is none. */
export function nextStep(consumer: string, { outcome, reason, key }: DeliveryEvent): string | undefined {
  if (outcome !== 'parked' && outcome !== 'dead-lettered') return undefined
  if (key === undefined) return 'the store has no record of it: fix its ID or payload, and publish it again'
  if (reason === 'record-unreadable') return 'repair or remove its record in the store, then move its dead letter back'
  const name = quoted(consumer)
  if (outcome === 'parked') {
    return `find out whether its effect happened, then \`consume-once resolve ${name} --done --reason WHY ${key}\`, or --rerun in place of --done`
  }
  if (reason === 'conflict') {
    return `compare it with what was handled under its ID: \`consume-once inspect ${name} ${key}\``
  }
  return `fix the cause, then \`consume-once reopen ${name} --reason WHY ${key}\`, then move its dead letter back`
}

/** Quotes for a shell. */
function quoted(name: string): string {
  return /^[\w.@%+:/-]+$/.test(name) ? name : `'${name.replaceAll("'", String.raw`'\''`)}'`
}
