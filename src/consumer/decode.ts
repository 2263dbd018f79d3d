import type { Message } from '../ports/message.ts'

/**
 * Turns the bytes of the payload into a value, at once or by a promise, such as with a client of a schema registry. The
 * messages of one claim are decoded together.
 *
 * If it throws or rejects, the message is set aside as `undecodable`, except where the error says nothing about the
 * payload: `NoEffectError`, an error of a socket or of a time-out, or a `status` of 401, 403, 407, 408, 425, 429 or 500
 * to 599, also as a `cause`. Then the message is decoded again, after the delays of `backoff`, for as long as it takes;
 * no attempt counts, `health()` is not ready, and `decode-down` is told. The same holds for a promise that is not settled
 * within `handlerTimeoutMs`. `TerminalError` sets the message aside whatever its cause is.
 */
export type Decode<Decoded> = (value: Uint8Array | null, message: Message) => Decoded | PromiseLike<Decoded>

/**
 * Decodes JSON from UTF-8 bytes, strictly: invalid UTF-8 is an error. A leading byte order mark is dropped, and a
 * tombstone is `null`. This is the default. Call it with a type argument to name the type you expect, or give a
 * `payloadSchema` to check it.
 */
export function json<Decoded = unknown>(): Decode<Decoded> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  return (value) => (value === null ? null : parsed(decoder.decode(value))) as Decoded
}

/** The SyntaxError of the engine quotes the text. It is logged, and no payload may be. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new SyntaxError((error as Error).message.replace(/(?:, )?(?:\.\.\.)?".*"(?:\.\.\.)?/s, ''))
  }
}

/**
 * The part of [Standard Schema](https://standardschema.dev) v1 that the library uses: zod, valibot, arktype and others
 * implement it.
 */
export interface StandardSchema<Input, Output> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
  }
}

type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] }

interface SchemaIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** Messages and paths of the issues. A schema's messages name the expected value and are the user's own text. */
export function describeIssues(issues: readonly SchemaIssue[]): string {
  return issues
    .slice(0, 5)
    .map(({ message, path }) => {
      const at = path?.map((step) => String(typeof step === 'object' ? step.key : step)).join('.')
      return at ? `${at}: ${message}` : message
    })
    .join('; ')
}
