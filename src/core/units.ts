/** Milliseconds since the Unix epoch, by the clock of a store or a broker. */
export type EpochMs = number & { readonly __unit?: 'EpochMs' }

/** A duration in milliseconds. */
export type DurationMs = number & { readonly __unit?: 'DurationMs' }

/** Milliseconds of a monotonic clock. Only differences are meaningful. */
export type MonotonicMs = number & { readonly __unit?: 'MonotonicMs' }
