export const LEASE_MS = 30_000
/** Records of a killed run expire by themselves. */
export const RETENTION_MS = 600_000
/** Until a loop by hand asks again for what another delivery holds. */
export const BUSY_POLL_MS = 10
