import { fileReplay } from '../../adapters/file/index.ts'

// Reads the file of the first argument as a plan and a run do, and prints how many messages it has and the memory it took.

const reader = await fileReplay().open(process.argv[2] ?? '')
const range = await reader.range({})
let messages = 0
for await (const batch of reader.read(range, { signal: new AbortController().signal })) messages += batch.length
await reader.close()
process.stdout.write(JSON.stringify({ messages, mostMb: process.resourceUsage().maxRSS / 1024 }))
