import type { ReplayItem } from '../ports/replay.ts'
import type { ReplayedConsumer } from './place.ts'

/** The message at an offset of `place`, such as `sms@3`. `undefined`: none is there. Changes nothing. */
export async function readAt(
  of: ReplayedConsumer,
  { place, offset, signal }: { readonly place: string; readonly offset: bigint; readonly signal: AbortSignal },
): Promise<ReplayItem | undefined> {
  const reader = await of.open(place, [])
  try {
    const range = await reader.range({ from: offset, to: offset + 1n })
    for await (const items of reader.read(range, { signal })) {
      const found = items.find(({ position }) => position === String(offset))
      if (found !== undefined) return found
    }
    return undefined
  } finally {
    await reader.close()
  }
}
