/** Memory of the process after some of the passes. */
export const RSS_EARLY = 'RSS MB after a tenth'
export const RSS_LATE = 'RSS MB at the end'
export const RSS_MOST = 'RSS MB at most'
/** What is still held after a garbage collection. */
export const HEAP_EARLY = 'heap MB after a tenth'
export const HEAP_LATE = 'heap MB at the end'
export const CPU_IN_ALL = 'CPU s in all'
