/** Of settle frames shortly before a close, a quorum queue heeds about the first 34. */
export const FRAMES_HEEDED = 30
/** After so long it has heeded them all. */
export const FRAMES_HEEDED_AFTER_MS = 100
