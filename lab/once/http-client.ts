import { setTimeout as sleep } from 'node:timers/promises'

/** A client that comes again while the first request holds its key, as `Retry-After` tells it to. */
export async function pay(port: number, key: string): Promise<Response> {
  for (;;) {
    const response = await fetch(`http://127.0.0.1:${port}/pay`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': `"${key}"` },
      body: JSON.stringify({ amount: 7 }),
    })
    const isBusy = response.status === 409 && response.headers.has('retry-after')
    if (!isBusy) return response
    await sleep(200)
  }
}
