/** An effect that a provider takes for one that it had before. */
export interface SharedKey {
  /** The message, by its idempotency key, and that which had the key first. */
  readonly of: string
  readonly with: string
  readonly key: unknown
  /** It was written again. Else it was looked up, which alone says nothing. */
  readonly isWritten: boolean
}

type Collected = unknown[] | Map<unknown, unknown> | Set<unknown>
type Method = (this: unknown, key: unknown, value?: unknown) => unknown

/** Under which keys a stand-in for a provider, a Map or a Set, keeps its effects. */
export class KeysUsed {
  /** By key, the message that had it first. */
  readonly first: Map<unknown, string> = new Map()
  readonly shared: SharedKey[] = []
  readonly #restore: (() => void)[] = []

  /** @param running - the message whose handler runs */
  constructor(collected: Collected | undefined, running: () => string) {
    if (collected === undefined || Array.isArray(collected)) return
    this.#watch(collected, collected instanceof Map ? 'set' : 'add', (key) => {
      this.#use(key, running(), true)
      if (!this.first.has(key)) this.first.set(key, running())
    })
    this.#watch(collected, 'has', (key) => this.#use(key, running(), false))
  }

  /** The collection is as it was. */
  end(): void {
    for (const restore of this.#restore) restore()
  }

  #use(key: unknown, of: string, isWritten: boolean): void {
    const first = this.first.get(key)
    if (first !== undefined && first !== of) this.shared.push({ of, with: first, key, isWritten })
  }

  /** Tells of each call of a method. */
  #watch(collected: object, name: string, tell: (key: unknown) => void): void {
    const own = Object.getOwnPropertyDescriptor(collected, name)
    const method = Reflect.get(collected, name) as Method
    const watched: Method = (key, value) => {
      tell(key)
      return Reflect.apply(method, collected, [key, value])
    }
    Object.defineProperty(collected, name, { value: watched, configurable: true, writable: true })
    this.#restore.push(() => {
      if (own === undefined) Reflect.deleteProperty(collected, name)
      else Object.defineProperty(collected, name, own)
    })
  }
}
