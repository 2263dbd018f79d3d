import type { Message } from '../ports/message.ts'
import type { Settlement } from './inline.ts'

/** How a framework around a drop-in function follows one delivery of its own. */
export interface DeliveryWatch {
  /** Before a handler can run: the handler's context has this message. */
  made(message: Message): void
  ended(settlement: Settlement): void
}
