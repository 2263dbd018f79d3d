import type { Logger } from '../../src/index.ts'

/** The slice of pino in use. */
export interface PinoLike extends Logger {
  child(bindings: object): Logger
}

/**
 * A child of the user's pino logger whose lines say where they come from: `component: 'consume-once'`. Levels: `debug` for
 * what ends well, `warn` and `error` for what a person should see. No payload and no raw ID is ever logged.
 *
 * A pino logger can be given as `log` directly; this only adds the binding.
 */
export function pinoLog(logger: PinoLike, bindings: object = {}): Logger {
  return logger.child({ component: 'consume-once', ...bindings })
}
