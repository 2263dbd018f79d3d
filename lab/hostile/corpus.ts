import { EXTRACTED_IDS } from './corpus/extracted-ids.ts'
import { HEADERS } from './corpus/headers.ts'
import { IDS } from './corpus/ids.ts'
import { INJECTED_IDS } from './corpus/injected-ids.ts'
import { PAYLOADS } from './corpus/payloads.ts'
import { PROTOCOL } from './corpus/protocol.ts'
import { CARRIERS, type Carrier, type HostileEntry } from './entry.ts'

/** Messages by theme. Hostile options are in `configuration.ts`. */
export const CORPUS: Readonly<Record<string, readonly HostileEntry[]>> = {
  'message IDs': IDS,
  'IDs that mean something elsewhere': INJECTED_IDS,
  'IDs by functions of users': EXTRACTED_IDS,
  headers: HEADERS,
  payloads: PAYLOADS,
  protocol: PROTOCOL,
}

/** The entries that a carrier can bring. */
export function entriesOn(carrier: Carrier): readonly HostileEntry[] {
  return Object.values(CORPUS)
    .flat()
    .filter(({ on = CARRIERS }) => on.includes(carrier))
}
