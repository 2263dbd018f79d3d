import { execFile } from 'node:child_process'
import { createWriteStream, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { bundledProgram } from '../kit/worker/bundled.ts'

const MESSAGES = 200_000
/** About 1 KB, so the file has 200 MB. */
const LINE = `${JSON.stringify({ topic: 'sms', headers: ['message-id', 'x'], payload: 'p'.repeat(960) })}\n`

const folder = mkdtempSync(join(tmpdir(), 'consume-once-big-'))
const path = join(folder, 'big.ndjson')

beforeAll(async () => {
  const block = LINE.repeat(1_000)
  const blocks = Array.from({ length: MESSAGES / 1_000 }, () => block)
  await pipeline(Readable.from(blocks), createWriteStream(path))
}, 60_000)
afterAll(() => rmSync(folder, { recursive: true }))

it('a file is read in a small part of the memory that it has bytes, with a small heap', async () => {
  // Bundled: tsx takes some 20 MB itself.
  const program = bundledProgram(new URL('read-all.ts', import.meta.url))
  const args = ['--expose-gc', '--max-old-space-size=48', program, path]
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 120_000 })
  const { messages, mostMb } = JSON.parse(stdout) as { readonly messages: number; readonly mostMb: number }
  expect(messages).toBe(MESSAGES)
  expect(mostMb).toBeGreaterThan(1)
  expect(mostMb).toBeLessThan(60)
}, 150_000)
