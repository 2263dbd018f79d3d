import type { OutgoingMessage, PublishedBy, Publishing } from '../../src/ports/outbox.ts'
import { MemoryOutbox } from '../stores/memory-outbox.ts'

/** Tells what is published before it is checked, also in a transaction that is rolled back. */
export class WatchedOutbox extends MemoryOutbox {
  readonly #tell: (message: OutgoingMessage, by: PublishedBy) => void

  constructor(tell: (message: OutgoingMessage, by: PublishedBy) => void) {
    super()
    this.#tell = tell
  }

  override publishing(): Publishing {
    const run = super.publishing()
    return {
      publish: (message, by) => {
        this.#tell(message, by)
        return run.publish(message, by)
      },
      end: () => run.end(),
    }
  }
}
