/** Right before a close, a quorum queue processes only about the first 34 settle frames. */
export const FRAMES_HEEDED = 30
/** After this time it has processed all of them. */
export const FRAMES_HEEDED_AFTER_MS = 100
