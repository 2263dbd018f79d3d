/** Milliseconds since the Unix epoch, as a store or the broker tells them. */
export type EpochMs = number & { readonly __unit?: 'EpochMs' }

/** A length of time in milliseconds. */
export type DurationMs = number & { readonly __unit?: 'DurationMs' }

/** Milliseconds of a monotonic clock; only differences mean anything. */
export type MonotonicMs = number & { readonly __unit?: 'MonotonicMs' }
