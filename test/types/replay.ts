import type { RedriveProgress, RedrivenDeadLetter } from 'consume-once/replay'

/** What a caller of `redrive` is told while it goes on. */
export const told: RedrivenDeadLetter[] = []
export const onProgress = ({ deadLetters }: RedriveProgress): void => void told.push(...deadLetters)
