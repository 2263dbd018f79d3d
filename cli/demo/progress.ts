import { Presets, SingleBar } from 'cli-progress'

/** A progress bar on a terminal, silent elsewhere. On stderr, because stdout is data. */
export class Progress {
  readonly #bar: SingleBar | undefined

  constructor(total: number, isShown: boolean) {
    if (!isShown || !process.stderr.isTTY) return
    const format = '{bar} {value}/{total} deliveries  handled {handled}  duplicates {duplicates}  {rate}/s'
    this.#bar = new SingleBar(
      { format, stream: process.stderr, hideCursor: true, barsize: 30, fps: 10 },
      Presets.shades_classic,
    )
    this.#bar.start(total, 0, { handled: 0, duplicates: 0, rate: 0 })
  }

  update(
    ended: number,
    fields: { readonly handled: number; readonly duplicates: number; readonly rate: number },
  ): void {
    this.#bar?.update(ended, fields)
  }

  /** Redeliveries make more deliveries than published messages. */
  grow(total: number): void {
    if (this.#bar !== undefined && this.#bar.getTotal() < total) this.#bar.setTotal(total)
  }

  stop(): void {
    this.#bar?.stop()
  }
}
