import type { Key } from '../../../src/spi.ts'

/** Rows of one transaction. They stay locked until its COMMIT is flushed, and others wait for them. */
const KEYS_PER_TRANSACTION = 500

/** Processes a batch part by part. A part has one scope and a limited size. Answers in the order of the batch. */
export async function inParts<Item extends { readonly key: Key; readonly scope?: string }, T>(
  batch: readonly Item[],
  ask: (part: readonly Item[]) => Promise<readonly T[]>,
): Promise<readonly T[]> {
  const answers: T[] = []
  for (let from = 0; from < batch.length;) {
    const scope = batch[from]?.scope
    const end = batch.findIndex((item, at) => at > from && (item.scope !== scope || at === from + KEYS_PER_TRANSACTION))
    const part = batch.slice(from, end === -1 ? batch.length : end)
    answers.push(...(await ask(part)))
    from += part.length
  }
  return answers
}
