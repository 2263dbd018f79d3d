const EVERY_MS = 100
const MB = 2 ** 20

/** Memory of the process: before, at most, and at the end. Only for processes that run with `--expose-gc`. */
export class MemoryWatch implements Disposable {
  readonly #before: number
  readonly #timer: NodeJS.Timeout
  #peak = 0

  constructor() {
    globalThis.gc?.()
    this.#before = process.memoryUsage.rss()
    this.#timer = setInterval(() => this.#look(), EVERY_MS)
  }

  figures(): Readonly<Record<string, number>> {
    this.#look()
    globalThis.gc?.()
    const { rss, heapUsed, arrayBuffers } = process.memoryUsage()
    return {
      'RSS before, MB': this.#before / MB,
      'RSS peak, MB': this.#peak / MB,
      'RSS end, MB': rss / MB,
      'heap end, MB': heapUsed / MB,
      'buffers end, MB': arrayBuffers / MB,
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }

  #look(): void {
    this.#peak = Math.max(this.#peak, process.memoryUsage.rss())
  }
}
