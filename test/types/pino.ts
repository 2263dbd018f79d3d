import { pino } from 'pino'
import { defineConsumer } from 'consume-once'
import { memoryStore } from 'consume-once/memory'
import { pinoLog } from 'consume-once/pino'

/** A real pino logger fits, bound or as it is. */
export const bound: unknown = defineConsumer({
  name: 'a',
  store: memoryStore(),
  handle: () => {},
  log: pinoLog(pino()),
})
export const plain: unknown = defineConsumer({ name: 'a', store: memoryStore(), handle: () => {}, log: pino() })
