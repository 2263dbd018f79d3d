/** The anomalies. docs/proof/guarantees.md defines the exact meaning of each name. */
export type Anomaly =
  | 'A1 lost'
  | 'A2 duplicate tx'
  | 'A2 duplicate attempt'
  | 'A2 duplicate accepted'
  | 'A3 settle before mark'
  | 'A4a effect without mark'
  | 'A4b mark without effect'
  | 'A5 stale write'
  | 'A6 stale effect'
  | 'A7 overlap'
  | 'A8 order'
  | 'A9 wrong settle'
  | 'A10 false duplicate'
  | 'A11 window miss'
  | 'A12 phantom'
  | 'A13 unknown as failure'
  | 'A14 dead letter and effect'
  | 'A15 unfounded dead letter'
  | 'L1 stall'
  | 'L2 stuck lease'
  | 'L3 storm'
  | 'L4 growth'
  | 'L5 hang'

/** A strategy, with the options that change its promise. */
export type Promised = 'inbox' | 'offsets' | 'lease, rerun' | 'lease, park' | 'lease, keyed'

/**
 * The anomalies that each promise admits under faults: they are counted and printed. A run without faults admits none.
 */
export const ADMITTED: Readonly<Record<Promised, readonly Anomaly[]>> = {
  inbox: ['A2 duplicate attempt', 'A7 overlap'],
  offsets: ['A2 duplicate attempt', 'A7 overlap'],
  'lease, rerun': ['A2 duplicate attempt', 'A2 duplicate accepted', 'A6 stale effect', 'A7 overlap'],
  'lease, park': ['A6 stale effect', 'A7 overlap', 'A4a effect without mark'],
  'lease, keyed': ['A2 duplicate attempt', 'A6 stale effect', 'A7 overlap'],
}
