// Faults that a correct run never has, put into a worker on purpose: a check that does not find them is none.

const ONE_OUT_OF = 500

/** Whether a planted bug affects a message. */
export function isPlantedIn(what: string, planted: string | undefined, id: string): boolean {
  return planted === what && Number(id.slice('m-'.length)) % ONE_OUT_OF === 7
}
