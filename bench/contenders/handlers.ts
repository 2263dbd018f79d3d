import { setTimeout as sleep } from 'node:timers/promises'

/** What each message is handled by. */
export type Handle = () => Promise<void>

export const noop: Handle = async () => {}

export const twoMs: Handle = () => sleep(2)
