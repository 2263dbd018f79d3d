import { Presets, SingleBar } from 'cli-progress'
import { say } from './output.ts'

const LINE_EVERY_MS = 5_000

/** Progress on stderr, because stdout is data: a bar on a terminal, elsewhere a line every 5 seconds. */
export class Meter {
  readonly #isShown: boolean
  #bar: SingleBar | undefined
  #lineAt = Date.now()

  constructor(isShown: boolean) {
    this.#isShown = isShown
  }

  show(value: number, total: number, text: string): void {
    if (!this.#isShown) return
    if (process.stderr.isTTY) {
      this.#bar ??= started(total)
      this.#bar.setTotal(Math.max(total, value))
      this.#bar.update(value, { text })
    } else if (Date.now() - this.#lineAt >= LINE_EVERY_MS) {
      this.#lineAt = Date.now()
      say(`${value.toLocaleString('en')}/${total.toLocaleString('en')}  ${text}`)
    }
  }

  end(): void {
    this.#bar?.stop()
  }
}

function started(total: number): SingleBar {
  const bar = new SingleBar(
    { format: '{bar} {value}/{total}  {text}', stream: process.stderr, hideCursor: true, barsize: 30, fps: 10 },
    Presets.shades_classic,
  )
  bar.start(total, 0, { text: '' })
  return bar
}
