import { describeError, StoreError, type Key } from '../../src/internal.ts'

/** Rows of one transaction. They stay locked until its COMMIT is flushed, and others wait for them. */
const KEYS_PER_PART = 500

interface Keyed {
  readonly key: Key
  readonly scope?: string
}

/** Processes a batch part by part. Answers in the order of the batch. */
export async function inParts<Item extends Keyed, T>(
  batch: readonly Item[],
  ask: (part: readonly Item[]) => Promise<readonly T[]>,
): Promise<readonly T[]> {
  const [only, ...others] = partsOf(batch)
  if (only === undefined) return []
  if (others.length === 0) return ask(only)
  const answers = new Map<Item, T>()
  for (const part of [only, ...others]) {
    const ofPart = await ask(part).catch((error: unknown) => {
      throw answers.size === 0 ? error : notAllOf(error)
    })
    for (const [at, answer] of ofPart.entries()) {
      const item = part[at]
      if (item !== undefined) answers.set(item, answer)
    }
  }
  return batch.flatMap((item) => answers.get(item) ?? [])
}

/** A part has one scope, a limited size, and no key twice: a repeated key goes to a later part. */
function partsOf<Item extends Keyed>(batch: readonly Item[]): readonly (readonly Item[])[] {
  const parts: Item[][] = []
  const keys = new Set<Key>()
  let scope: string | undefined
  for (const item of batch) {
    const part = parts.at(-1)
    if (part === undefined || item.scope !== scope || keys.has(item.key) || part.length === KEYS_PER_PART) {
      keys.clear()
      parts.push([item])
    } else part.push(item)
    scope = item.scope
    keys.add(item.key)
  }
  return parts
}

/** A batch was written in part, so the error must not say that nothing happened. */
function notAllOf(error: unknown): StoreError {
  return new StoreError('STORE_AMBIGUOUS', `a part of the batch was written: ${describeError(error)}`, { cause: error })
}
