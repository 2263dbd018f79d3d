/** Resolves when all have ended; rejects only then, with the first reason. */
export async function together(works: readonly Promise<void>[]): Promise<void> {
  for (const end of await Promise.allSettled(works)) if (end.status === 'rejected') throw end.reason
}
