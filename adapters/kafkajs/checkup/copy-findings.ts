import { durationText, type CheckedConsumer, type CheckFinding } from '../../../src/internal.ts'
import type { ResolvedKafka } from '../options/resolve.ts'
import type { CopyPlace } from '../options/topology.ts'
import type { Asked, Settings } from './asked.ts'
import { broken, holds, unknown, weaker, type Found } from './found.ts'
import { forbidden, keptMs } from './topic-findings.ts'

/** Checks the settings of a dead-letter or retry topic. `settings` is `undefined` if the topic does not exist. */
export function findingsOfCopies(
  place: CopyPlace,
  settings: Asked<Settings> | undefined,
  { consumer, setup }: { readonly consumer: CheckedConsumer; readonly setup: ResolvedKafka['setup'] },
): CheckFinding[] {
  const check = `kafka.${place.kind}-topic`
  const name = `${place.kind} topic ${place.topic}`
  if (settings === undefined) return [{ check, ...missing(name, place, setup) }]
  if (!settings.isTold) return [forbidden(check, name, settings.why)]
  return [{ check, ...(place.kind === 'retry' ? ofRetry : ofDeadLetters)(place, settings.value, consumer) }]
}

function missing(name: string, { kind }: CopyPlace, setup: ResolvedKafka['setup']): Found {
  const found = `${name}: does not exist`
  if (setup === 'auto') return holds(`${found} yet; it is created at the start`)
  const meaning =
    "Messages for it are published again and again, and block their partition. Create it, or set setup: 'auto'. A topic that this client may not see looks the same."
  // With `off` nobody asks at the start: the client may have no right to see it.
  return setup === 'off' ? unknown(found, meaning) : broken(`${kind}-topic missing`, found, meaning)
}

const COMPACTED = 'Compaction keeps only the last copy of each key. Set cleanup.policy to delete.'

function ofDeadLetters({ topic, kind }: CopyPlace, settings: Settings, { retentionMs }: CheckedConsumer): Found {
  const found = `dead-letter topic ${topic}: ${described(settings)}`
  if (settings.get('cleanup.policy')?.includes('compact') === true) {
    return broken(`${kind}-topic settings`, found, COMPACTED)
  }
  const kept = keptMs(settings)
  if (kept >= retentionMs) return holds(found)
  return weaker(
    found,
    `A dead letter is deleted after ${durationText(kept)}, before the record of its message: after that you cannot move the dead letter back. Raise retention.ms.`,
  )
}

function ofRetry({ topic, kind, delayMs }: CopyPlace, settings: Settings, { retentionMs }: CheckedConsumer): Found {
  const found = `retry topic ${topic}: ${described(settings)}, delay ${durationText(delayMs)}`
  if (settings.get('cleanup.policy')?.includes('compact') === true) {
    return broken(`${kind}-topic settings`, found, COMPACTED)
  }
  if (keptMs(settings) <= delayMs) {
    return broken(`${kind}-topic settings`, found, 'Copies are deleted before they are due. Raise retention.ms.')
  }
  if (delayMs < retentionMs) return holds(found)
  return weaker(
    found,
    `The store forgets a waiting message after ${durationText(retentionMs)}, and counts its attempts from 1 again. Raise retentionMs of the consumer.`,
  )
}

function described(settings: Settings): string {
  return `cleanup.policy ${settings.get('cleanup.policy')}, retention.ms ${settings.get('retention.ms')}`
}
