import { fileReplay } from '../../adapters/file/index.ts'

// Reads the file of the first argument as a plan and a run do, and prints how many messages it has and the memory it took.

async function main(path: string): Promise<void> {
  const reader = await fileReplay().open(path)
  const range = await reader.range({})
  let messages = 0
  for await (const batch of reader.read(range, { signal: new AbortController().signal })) messages += batch.length
  await reader.close()
  process.stdout.write(JSON.stringify({ messages, mostMb: process.resourceUsage().maxRSS / 1024 }))
}

void main(process.argv[2] ?? '')
