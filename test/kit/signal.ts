/** Waits for notifications, never for time. */
export class Signal {
  readonly #looks = new Set<() => void>()

  notify(): void {
    for (const look of this.#looks) look()
  }

  until(isSo: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!isSo()) return
        this.#looks.delete(look)
        resolve()
      }
      this.#looks.add(look)
      look()
    })
  }
}
