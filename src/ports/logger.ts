/**
 * The part of a pino logger that the library uses: an object first, then a message. The library never passes a payload
 * or a raw ID.
 */
export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
  /** As in pino. With it, a line that the logger would drop is not made: most deliveries are `debug` lines. */
  isLevelEnabled?(level: 'debug' | 'info' | 'warn' | 'error'): boolean
}
