export const LEASE_MS = 30_000
/** What is left behind by a run that was killed goes by itself. */
export const RETENTION_MS = 600_000
/** Until a loop by hand asks again for what another delivery holds. */
export const BUSY_POLL_MS = 10
