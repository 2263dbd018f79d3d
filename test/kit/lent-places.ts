import { afterAll } from '@jest/globals'

/** A schema or database of one test. */
interface Place {
  /** Takes everything out of its tables. Resolves with false where that does not make it as new. */
  empty(): Promise<boolean>
  close(): Promise<void>
}

/**
 * Opens a place for the tests of a file that takes the one before, emptied: to make the tables anew for each law takes longer than
 * the law. To be called where the tests are described.
 */
export function lentPlaces<P extends Place>(open: () => Promise<P>): () => Promise<P> {
  const idle: P[] = []
  afterAll(async () => {
    for (const place of idle.splice(0)) await place.close()
  })
  return async () => {
    const place = idle.pop() ?? (await open())
    const giveBack = async (): Promise<void> => {
      if (await place.empty()) idle.push(place)
      else await place.close()
    }
    return { ...place, close: giveBack }
  }
}
