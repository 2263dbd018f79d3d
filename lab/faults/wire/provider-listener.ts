import type { Listener, Target } from './listener.ts'

/** One request for each connection. */
export function providerListener({ id }: Target): Listener {
  let isTarget = false
  return {
    fromClient: (bytes) => {
      isTarget = bytes.includes(`"id":"${id}"`)
      return isTarget ? [{ moment: 'effect sent', isTarget }] : []
    },
    fromServer: () => (isTarget ? [{ moment: 'effect applied', isTarget }] : []),
  }
}
