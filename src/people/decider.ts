import { needed, where, type Rule, type Table } from '../foundation/options.ts'

/** Who decides, and why. Logged for audit together with the previous record. */
export interface Decider {
  /** 1 to 200 characters. */
  readonly by: string
  /** 1 to 1000 characters, such as a ticket number. No payload and no secret. */
  readonly reason: string
}

export const BY: Rule<string> = prose(200)
export const REASON: Rule<string> = prose(1_000)

export const DECIDER: Table<Decider> = { by: needed(BY), reason: needed(REASON) }

/** Text of a person, which may have several lines. */
function prose(most: number): Rule<string> {
  return where(
    `1 to ${most} characters`,
    (value) => typeof value === 'string' && value.trim() !== '' && value.length <= most,
    { least: 1, most },
  )
}

/** Adds a problem for each text that the audit cannot store. */
export function checkDecider({ by, reason }: Decider, problems: string[]): void {
  BY.read(by, { name: 'by', problems })
  REASON.read(reason, { name: 'reason', problems })
}
