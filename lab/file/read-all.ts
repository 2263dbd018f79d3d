import { fileReplay } from '../../adapters/file/index.ts'

// Reads the file of the first argument as a plan and a run do, and prints how many messages it has and the most memory that it held.
// With --expose-gc: what is garbage stays for as long as the machine is busy with other things.

const MEASURED_EVERY = 5_000

async function main(path: string): Promise<void> {
  const reader = await fileReplay().open(path)
  const range = await reader.range({})
  let [messages, most] = [0, 0]
  for await (const batch of reader.read(range, { signal: new AbortController().signal })) {
    const isMeasured = Math.floor(messages / MEASURED_EVERY) < Math.floor((messages + batch.length) / MEASURED_EVERY)
    messages += batch.length
    if (isMeasured) most = Math.max(most, held())
  }
  await reader.close()
  process.stdout.write(JSON.stringify({ messages, mostMb: most / 2 ** 20 }))
}

function held(): number {
  globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

void main(process.argv[2] ?? '')
