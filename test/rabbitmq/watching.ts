import type { Delivery } from '../../src/internal.ts'

/** Stays shut until the test opens it. */
export class Gate {
  readonly opened: Promise<void>
  #open: (() => void) | undefined

  constructor() {
    this.opened = new Promise((resolve) => {
      this.#open = resolve
    })
  }

  open(): void {
    this.#open?.()
  }
}

export function bodies(count: number, prefix = 'm'): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${index}`)
}

export function textOf(delivery: Delivery): string {
  return Buffer.from(delivery.message.value ?? []).toString()
}
