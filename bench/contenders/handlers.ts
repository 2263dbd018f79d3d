import { setTimeout as sleep } from 'node:timers/promises'

/** The handler of each message. */
export type Handle = () => Promise<void>

export const noop: Handle = async () => {}

export const twoMs: Handle = () => sleep(2)

/** As long as a call of a provider nearby. */
export const twentyMs: Handle = () => sleep(20)
