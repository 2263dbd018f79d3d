import type { Ears, Target } from './ears.ts'

/** One request for each connection. */
export function providerEars({ id }: Target): Ears {
  let isTarget = false
  return {
    fromClient: (bytes) => {
      isTarget = bytes.includes(`"id":"${id}"`)
      return isTarget ? [{ moment: 'effect sent', isTarget }] : []
    },
    fromServer: () => (isTarget ? [{ moment: 'effect applied', isTarget }] : []),
  }
}
