import type { OutgoingSystem } from '../ports/outbox.ts'

/** Also of another copy of the library in the process. */
const PUBLISHES_TO = Symbol.for('consume-once.publishes-to')

/** For a publisher of this library: the outbox refuses it for another broker. */
export function setBroker(publisher: object, system: OutgoingSystem): void {
  Object.defineProperty(publisher, PUBLISHES_TO, { value: system })
}

/** `undefined` of a publisher that is not of this library. */
export function brokerOf(publisher: object): OutgoingSystem | undefined {
  return (publisher as { readonly [PUBLISHES_TO]?: OutgoingSystem })[PUBLISHES_TO]
}
