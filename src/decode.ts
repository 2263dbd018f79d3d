import type { Message } from './ports/message.ts'

/** Turns the payload's bytes into a value. What it throws sets the message aside as `undecodable`. */
export type Decode<Decoded> = (value: Uint8Array | null, message: Message) => Decoded

/**
 * JSON from UTF-8 bytes, strictly: bytes that are not UTF-8 are not JSON. A leading byte order mark is dropped, a tombstone
 * is `null`. The default; call it with a type to name what you expect, or give a `schema` to have it checked.
 */
export function json<Decoded = unknown>(): Decode<Decoded> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  return (value) => (value === null ? null : parsed(decoder.decode(value))) as Decoded
}

/** The error of the engine quotes the text, and is logged: no payload may be. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new SyntaxError((error as Error).message.replace(/(?:, )?(?:\.\.\.)?".*"(?:\.\.\.)?/s, ''))
  }
}

/** The part of [Standard Schema](https://standardschema.dev) v1 in use: zod, valibot, arktype and others fit. */
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

/** Messages and paths of the issues; a schema's messages name what was expected and are the user's own text. */
export function describeIssues(issues: readonly SchemaIssue[]): string {
  return issues
    .slice(0, 5)
    .map(({ message, path }) => {
      const at = path?.map((step) => String(typeof step === 'object' ? step.key : step)).join('.')
      return at ? `${at}: ${message}` : message
    })
    .join('; ')
}
