import { durationText, type CheckedConsumer, type CheckFinding } from '../../../src/internal.ts'
import type { ResolvedKafka } from '../options/resolve.ts'
import type { CopyPlace } from '../options/topology.ts'
import type { Asked, Settings } from './asked.ts'
import { broken, forbidden, holds, unknown, weaker } from './findings.ts'
import { keptMs } from './topic-findings.ts'

/** Checks the settings of a dead-letter or retry topic. `settings` is `undefined` if the topic does not exist. */
export function findingOfCopies(
  place: CopyPlace,
  settings: Asked<Settings> | undefined,
  { consumer, setup }: { readonly consumer: CheckedConsumer; readonly setup: ResolvedKafka['setup'] },
): CheckFinding {
  const name = `${place.kind} topic ${place.topic}`
  if (settings === undefined) return missing(name, place, setup)
  if (!settings.isTold) return forbidden(`${place.kind}-topic`, name, settings.why)
  return ofSettings(name, place, settings.value, consumer)
}

function missing(name: string, { kind }: CopyPlace, setup: ResolvedKafka['setup']): CheckFinding {
  const found = `${name}: does not exist`
  const check = `${kind}-topic` as const
  if (setup === 'auto') return holds(check, `${found} yet; it is created at the start`)
  const meaning =
    "Messages for it are published again and again, and block their partition. Create it, or set setup: 'auto'. A topic that this client may not see looks the same."
  // With `off` nobody asks at the start: the client may have no right to see it.
  return setup === 'off' ? unknown(check, found, meaning) : broken(`${check} missing`, found, meaning)
}

function ofSettings(
  name: string,
  { kind, delayMs }: CopyPlace,
  settings: Settings,
  { retentionMs }: CheckedConsumer,
): CheckFinding {
  const policy = settings.get('cleanup.policy')
  const delay = kind === 'retry' ? `, delay ${durationText(delayMs)}` : ''
  const found = `${name}: cleanup.policy ${policy}, retention.ms ${settings.get('retention.ms')}${delay}`
  const check = `${kind}-topic` as const
  if (policy?.includes('compact') === true) {
    const meaning = 'Compaction keeps only the last copy of each key. Set cleanup.policy to delete.'
    return broken(`${check} settings`, found, meaning)
  }
  const kept = keptMs(settings)
  if (kind === 'retry' && kept <= delayMs) {
    return broken(`${check} settings`, found, 'Copies are deleted before they are due. Raise retention.ms.')
  }
  if (kind === 'retry' ? delayMs < retentionMs : kept >= retentionMs) return holds(check, found)
  const meaning =
    kind === 'retry'
      ? `The store forgets a waiting message after ${durationText(retentionMs)}, and counts its attempts from 1 again. Raise retentionMs of the consumer.`
      : `A dead letter is deleted after ${durationText(kept)}, before the record of its message: after that you cannot move the dead letter back. Raise retention.ms.`
  return weaker(check, found, meaning)
}
