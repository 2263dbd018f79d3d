// What the bundle has in place of Node's globals.

export { BrowserBuffer as Buffer } from './buffer.ts'

const { port1, port2 } = new MessageChannel()
const waiting: (() => void)[] = []
port1.addEventListener('message', () => waiting.shift()?.())
port1.start()

/** After all promises that are settled now. A timer would wait for 4 ms. */
export function setImmediate(run: () => void): void {
  waiting.push(run)
  port2.postMessage(undefined)
}
