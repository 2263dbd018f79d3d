/** Beyond the bytes of one message. */
const MOST_BYTES = 16 * 1024 * 1024

/**
 * What was read and not yet asked for, bounded in number and bytes. Those who wait for it are woken together, and look
 * again.
 */
export class ReadAhead<T> {
  readonly #most: number
  #bytes = 0
  #items: T[] = []
  #isClosed = false
  #room: Gate | undefined
  #news: Gate | undefined

  constructor(most: number) {
    this.#most = most
  }

  get isFull(): boolean {
    return this.#items.length >= this.#most || this.#bytes >= MOST_BYTES
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  put(item: T, bytes: number): void {
    this.#items.push(item)
    this.#bytes += bytes
    this.notify()
  }

  takeAll(): readonly T[] {
    const taken = this.#items
    this.#items = []
    this.#bytes = 0
    this.#room?.open()
    this.#room = undefined
    return taken
  }

  /** There may be room now, or it was closed. */
  room(): Promise<void> {
    if (!this.isFull || this.#isClosed) return Promise.resolve()
    this.#room ??= new Gate()
    return this.#room.opened
  }

  /** Resolves with false if nothing has happened for `limitMs`. */
  async news(limitMs: number): Promise<boolean> {
    if (this.#isClosed || this.#items.length > 0) return true
    const gate = (this.#news ??= new Gate())
    let timer: NodeJS.Timeout | undefined
    const quiet = new Promise<false>((resolve) => {
      timer = setTimeout(() => resolve(false), limitMs)
    })
    const isNews = await Promise.race([gate.opened.then(() => true), quiet])
    clearTimeout(timer)
    return isNews
  }

  /** Wakes who waits for news. */
  notify(): void {
    this.#news?.open()
    this.#news = undefined
  }

  close(): void {
    this.#isClosed = true
    this.#items = []
    this.#room?.open()
    this.notify()
  }
}

class Gate {
  open: () => void = () => {}
  readonly opened = new Promise<void>((resolve) => {
    this.open = resolve
  })
}
