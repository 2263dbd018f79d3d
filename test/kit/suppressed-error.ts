/**
 * What a `using` block throws if its body and a disposal both fail. swc 1.16 declares it under one name and throws it by
 * another, so a test would show a ReferenceError in place of the two errors.
 */
class SuppressedError extends Error {
  readonly error: unknown
  readonly suppressed: unknown

  constructor(error: unknown, suppressed: unknown) {
    super(`${String(suppressed)}; then, while it was disposed: ${String(error)}`, { cause: suppressed })
    this.name = 'SuppressedError'
    this.error = error
    this.suppressed = suppressed
  }
}

Object.defineProperty(globalThis, '_SuppressedError', { value: SuppressedError, configurable: true })
