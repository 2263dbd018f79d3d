import { createReadStream } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import { ReplayError, type ReplayJournal } from '../../src/internal.ts'
import { linesOf as linesIn } from './lines.ts'

/** A journal in a file: one JSON object a line, for `grep` and `jq`. `append` resolves when it is on the disk. */
export function fileJournal(path: string): ReplayJournal {
  let file: FileHandle | undefined
  let size = 0
  let isTorn = false
  return {
    name: path,
    open: async (from) => {
      const opened = await open(path, 'a+')
      try {
        size = await cut(opened, from, path)
        const lines: string[] = []
        if (size > from) for await (const line of linesOf(path, from)) lines.push(line)
        file = opened
        return { bytes: size, lines }
      } catch (error) {
        await opened.close()
        throw error
      }
    },
    append: async (lines) => {
      if (file === undefined) throw new TypeError('a journal that is not open (journal.append)')
      if (lines.length === 0) return size
      const bytes = Buffer.from(`${lines.join('\n')}\n`)
      // A full disk takes a part of the lines.
      if (isTorn) await file.truncate(size)
      isTorn = true
      await file.appendFile(bytes)
      await file.datasync()
      isTorn = false
      size += bytes.length
      return size
    },
    read: () => linesOf(path, 0),
    close: async () => {
      await file?.close()
      file = undefined
    },
  }
}

async function* linesOf(path: string, from: number): AsyncIterable<string> {
  for await (const { bytes } of linesIn(createReadStream(path, { start: from }))) yield bytes.toString()
}

/** Removes a last line that is not whole. Returns the size. */
async function cut(file: FileHandle, from: number, path: string): Promise<number> {
  const whole = await wholeLines(file)
  if (whole < from) {
    throw new ReplayError(
      'REPLAY_REFUSED',
      `journal ${path}: expected at least ${from} bytes, got ${whole}: it is another file, or was lost; bring it back, or make a new plan`,
    )
  }
  await file.truncate(whole)
  return whole
}

const CHUNK = 64 * 1024

/** The size up to the end of the last whole line: a process may have died while it wrote the last one. */
async function wholeLines(file: FileHandle): Promise<number> {
  const { size } = await file.stat()
  for (let end = size; end > 0; end -= CHUNK) {
    const start = Math.max(0, end - CHUNK)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(end - start), 0, end - start, start)
    const at = buffer.subarray(0, bytesRead).lastIndexOf(0x0a)
    if (at >= 0) return start + at + 1
  }
  return 0
}
