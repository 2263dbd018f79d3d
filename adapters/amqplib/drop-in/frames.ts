import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock, type MonotonicMs } from '../../../src/spi.ts'
import { FRAMES_HEEDED, FRAMES_HEEDED_AFTER_MS } from '../settling/heeded.ts'
import type { OwnChannel } from './channel.ts'

export type Frame = 'ack' | 'reject' | 'hand-back'

/** Settles deliveries on a channel that others use too: one frame for each delivery, never `multiple`. */
export class Frames {
  readonly #channel: OwnChannel
  #sent = 0
  #lastAt: MonotonicMs | undefined

  constructor(channel: OwnChannel) {
    this.#channel = channel
  }

  /** `false`: the channel is closed or closing. */
  send(frame: Frame, tagged: Parameters<OwnChannel['ack']>[0]): boolean {
    try {
      switch (frame) {
        case 'ack':
          this.#channel.ack(tagged, false) // mutant: rabbit-drop-in-acks-for-others
          break
        case 'reject':
          this.#channel.reject(tagged, false)
          break
        case 'hand-back':
          this.#channel.nack(tagged, false, true)
          break
      }
    } catch {
      return false
    }
    this.#sent++
    this.#lastAt = systemClock.monotonic()
    return true
  }

  /** Resolves when the channel may be closed without losing the settles. */
  async heeded(): Promise<void> {
    if (this.#lastAt === undefined || this.#sent <= FRAMES_HEEDED) return
    const waited = systemClock.monotonic() - this.#lastAt
    if (waited < FRAMES_HEEDED_AFTER_MS) await sleep(FRAMES_HEEDED_AFTER_MS - waited)
  }
}
