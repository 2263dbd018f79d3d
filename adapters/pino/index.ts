import type { Logger } from '../../src/internal.ts'

/** The part of pino that is used. */
export interface PinoLike extends Logger {
  child(bindings: object): Logger
}

/**
 * Creates a child of your pino logger with `component: 'consume-once'` in each line. Levels: `debug` for messages that
 * end well, `warn` and `error` for events that a person should see. No payload is logged, and no raw ID without
 * `logIds`.
 *
 * You can also pass a pino logger as `log` directly; this function only adds the binding.
 */
export function pinoLog(logger: PinoLike, bindings: object = {}): Logger {
  return logger.child({ component: 'consume-once', ...bindings })
}
