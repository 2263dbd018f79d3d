/** Who decides, and why. Logged for audit together with the previous record. */
export interface Decider {
  /** 1 to 200 characters. */
  readonly by: string
  /** 1 to 1000 characters, such as a ticket number. No payload and no secret. */
  readonly reason: string
}

/** For the checks of functions that take a `Decider`. */
export const DECIDER: Record<keyof Decider, true> = { by: true, reason: true }

/** Adds a problem for each text that the audit cannot store. */
export function checkDecider({ by, reason }: Decider, problems: string[]): void {
  for (const [name, text, most] of [
    ['by', by, 200],
    ['reason', reason, 1_000],
  ] as const) {
    if (typeof text === 'string' && text.trim() !== '' && text.length <= most) continue
    problems.push(`${name}: expected 1 to ${most} characters, got ${JSON.stringify(text)}`)
  }
}
