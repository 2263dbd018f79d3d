import { entriesOn } from './corpus.ts'
import type { Carrier, HostileEntry, HostileMessage, Must } from './entry.ts'

/** Distinguishes messages. It is not an ID, and the library does not read it. */
export const NUMBER_HEADER = 'hostile-number'

/** One message of a run. */
export interface Sending {
  readonly number: number
  /** Number of the first message that is the same. */
  readonly identity: number
  /** `undefined`: a plain message between hostile ones, which must be unharmed. */
  readonly entry: HostileEntry | undefined
  readonly message: HostileMessage
  readonly must: Must
  readonly value: Buffer | null
}

/** All that a carrier can bring, each entry followed by a neighbour. */
export function planFor(carrier: Carrier): readonly Sending[] {
  const sendings: Sending[] = []
  const add = (
    entry: HostileEntry | undefined,
    message: HostileMessage,
    { value, from = sendings.length }: { readonly value: HostileMessage['value']; readonly from?: number },
  ): void => {
    const { must } = message
    const [number, identity] = [sendings.length, typeof must === 'object' ? from + must.same : sendings.length]
    const bytes = value === null || value === undefined ? null : Buffer.from(value as string)
    sendings.push({ number, identity, entry, message, must, value: bytes })
  }
  for (const entry of entriesOn(carrier)) {
    const from = sendings.length
    for (const message of entry.messages) {
      const { value = JSON.stringify({ entry: entry.name }) } = message
      add(entry, message, { value, from })
    }
    add(undefined, { must: 'run', headers: { 'message-id': `neighbour ${sendings.length}` } }, { value: '"neighbour"' })
  }
  return sendings
}

/** Its headers with the number; none where it has none. */
export function numberedHeaders({ number, message: { headers } }: Sending): Record<string, unknown> | undefined {
  return headers === undefined ? undefined : { ...headers, [NUMBER_HEADER]: String(number) }
}

/** Finds a message again, where it is delivered and where it is dead-lettered. */
export class Numbers {
  readonly #byValue: ReadonlyMap<string, number>

  constructor(plan: readonly Sending[]) {
    const bare = plan.filter(({ message }) => message.headers === undefined)
    this.#byValue = new Map(bare.map(({ number, value }) => [String(value), number]))
  }

  of(headers: Readonly<Record<string, unknown>> | undefined, value: Uint8Array | null): number | undefined {
    const told = headers !== undefined && Object.hasOwn(headers, NUMBER_HEADER) ? headers[NUMBER_HEADER] : undefined
    if (told !== undefined) return Number(told instanceof Uint8Array ? Buffer.from(told).toString() : told)
    return value === null ? undefined : this.#byValue.get(Buffer.from(value).toString())
  }
}

export function nameOf({ number, entry }: Sending): string {
  return entry === undefined ? `neighbour ${number}` : `${entry.name} (#${number})`
}
