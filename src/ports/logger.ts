/** The slice of a pino-shaped logger in use: object first, then a message. No payload and no raw ID is ever passed. */
export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}
