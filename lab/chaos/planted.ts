// Bugs planted in a worker on purpose: a check that misses them proves nothing.

const ONE_OUT_OF = 500

/** Whether a planted bug affects a message. */
export function isPlantedIn(what: string, planted: string | undefined, id: string): boolean {
  return planted === what && Number(id.slice('m-'.length)) % ONE_OUT_OF === 7
}
