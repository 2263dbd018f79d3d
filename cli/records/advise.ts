import { adviceOf, type Advised } from '../../src/people/advice.ts'
import { MEANING } from '../../src/people/meaning.ts'
import type { ConfiguredConsumer } from '../../src/index.ts'
import { deadLetterPlaces } from '../../src/replay/place.ts'
import { printable, say } from '../output.ts'
import { titleOf, type Session } from '../session.ts'
import type { Shown } from './show.ts'

interface About {
  readonly session: Session
  readonly entry: ConfiguredConsumer
  /** The record is of another message with the same ID. */
  readonly isConflict?: boolean
}

/** Says what the states among the records mean and what a person can do, once for those that have the same advice. */
export function advise(records: readonly Shown[], { session, entry, isConflict = false }: About): void {
  const { consumer, subscription } = entry
  const named = { id: titleOf(entry), name: consumer.name, deadLetters: deadLetterPlaces(subscription.replay) }
  const consumers = session.config.consumers.map((one) => ({ name: one.consumer.name }))
  const alike = new Map<string, Shown[]>()
  const own = records.filter(({ scope }) => scope !== 'another')
  if (own.length < records.length) say('The record under this key is of another consumer of this store: ask that one.')
  for (const record of own) {
    const { text } = adviceOf(record, { consumer: named, consumers, message: SOME, isConflict })
    const title = `${record.state}: ${MEANING[record.state]} ${text}`
    alike.set(title, [...(alike.get(title) ?? []), record])
  }
  for (const [title, [record, another]] of alike) {
    if (record === undefined) continue
    const message = another === undefined ? messageOf(record, records) : SOME
    say(title)
    for (const { about, text } of adviceOf(record, { consumer: named, consumers, message, isConflict }).commands) {
      say(`  ${about}:\n    ${printable(text)}`)
    }
  }
}

/** Stands for each of several, as WHY does for a reason. */
const SOME: Advised['message'] = { id: undefined, key: 'KEY', origin: undefined }

function messageOf({ ref, key, origin }: Shown, records: readonly Shown[]): Advised['message'] {
  const isOneOfMany = records.filter((other) => other.ref === ref).length > 1
  return { id: typeof ref === 'string' ? ref : undefined, key, origin: isOneOfMany ? origin : undefined }
}
