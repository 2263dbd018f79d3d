import { describeIssues } from '../../consumer/decode.ts'
import type { ResolvedConsumer } from '../../consumer/resolve-options.ts'
import { describeError } from '../../foundation/errors.ts'
import type { Message } from '../../ports/message.ts'
import type { RunItem } from './handler-run.ts'
import type { Unidentified } from '../intake/identify.ts'
import { redacted } from '../telemetry/redact.ts'

/** A message of a run whose payload cannot be decoded. */
export interface Undecoded extends Unidentified {
  readonly item: RunItem
}

/**
 * Decodes and checks the payloads of one run, and stores them in its items. Returns the items that failed, or a promise
 * of them if a schema is asynchronous. Never throws, never rejects.
 */
export function decodePayloads(
  items: readonly RunItem[],
  consumer: ResolvedConsumer,
): readonly Undecoded[] | Promise<readonly Undecoded[]> {
  let undecoded: Undecoded[] | undefined
  let late: Promise<Undecoded | undefined>[] | undefined
  for (const item of items) {
    const decoded = decodePayload(item.task.message, consumer)
    if (decoded instanceof Promise) {
      ;(late ??= []).push(decoded.then((answer) => write(item, answer)))
      continue
    }
    const problem = write(item, decoded)
    if (problem !== undefined) (undecoded ??= []).push(problem)
  }
  if (late === undefined) return undecoded ?? NONE
  return Promise.all(late).then((all) => [...(undecoded ?? NONE), ...all.filter((one) => one !== undefined)])
}

type Decoded = { readonly ok: true; readonly payload: unknown } | { readonly ok: false; readonly why: Unidentified }

function write(item: RunItem, decoded: Decoded): Undecoded | undefined {
  if (!decoded.ok) return { item, ...decoded.why }
  item.payload = decoded.payload
  return undefined
}

const NONE: readonly Undecoded[] = []

function decodePayload(message: Message, consumer: ResolvedConsumer): Decoded | Promise<Decoded> {
  let payload: unknown
  try {
    payload = consumer.decode(message.value, message)
  } catch (error) {
    return { ok: false, why: { reason: 'undecodable', detail: describeError(error), error } }
  }
  if (consumer.schema === undefined) return { ok: true, payload }
  try {
    const result = consumer.schema['~standard'].validate(payload)
    // Not `instanceof`: a promise of another realm would be mistaken for a result, and its payload would be undefined.
    return 'then' in result
      ? Promise.resolve(result)
          .then((later) => asDecoded(later, message))
          .catch(schemaThrew)
      : asDecoded(result, message)
  } catch (error) {
    return schemaThrew(error)
  }
}

function asDecoded(
  result: Awaited<ReturnType<NonNullable<ResolvedConsumer['schema']>['~standard']['validate']>>,
  message: Message,
): Decoded {
  return result.issues === undefined
    ? { ok: true, payload: result.value }
    : { ok: false, why: { reason: 'schema', detail: redacted(describeIssues(result.issues), message) } }
}

function schemaThrew(error: unknown): Decoded {
  return { ok: false, why: { reason: 'schema', detail: describeError(error), error } }
}
