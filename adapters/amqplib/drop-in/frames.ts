import { FRAMES_HEEDED, untilRead } from '../settling/heeded.ts'
import type { OwnChannel } from './channel.ts'

export type Frame = 'ack' | 'reject' | 'hand-back'

/** Settles deliveries on a channel that others use too: one frame for each delivery, never `multiple`. */
export class Frames {
  readonly #channel: OwnChannel
  #sent = 0

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
    return true
  }

  /** Resolves when the channel may be closed. A busy broker may lose settles all the same. */
  async heeded(): Promise<void> {
    if (this.#sent > FRAMES_HEEDED) await untilRead(this.#channel)
  }
}
