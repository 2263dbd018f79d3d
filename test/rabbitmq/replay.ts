import { rabbitSubscription } from '../../adapters/amqplib/index.ts'
import type { ReplayItem, ReplayPlaces, ReplayRange, ReplayReader } from '../../src/internal.ts'

export function placesAt(url: string, queue: string): ReplayPlaces {
  const { replay } = rabbitSubscription(url, { queue })
  if (replay === undefined) throw new TypeError('no places')
  return replay
}

/** Reads the whole range, in batches of at most `ahead`. */
export async function readAll(reader: ReplayReader, range: ReplayRange, ahead = 1000): Promise<ReplayItem[]> {
  const items: ReplayItem[] = []
  for await (const batch of reader.read(range, { signal: new AbortController().signal, ahead })) items.push(...batch)
  return items
}

export function textOf({ message }: ReplayItem): string {
  return Buffer.from(message.value ?? []).toString()
}

export async function settleAll(items: readonly ReplayItem[], how: 'done' | 'return'): Promise<void> {
  for (const item of items) await item.settle?.(how)
}
