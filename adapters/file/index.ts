import { createWriteStream } from 'node:fs'
import { access, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { ConfigError, describeError, type ReplayPlaces, type ReplayReader } from '../../src/internal.ts'
import { FileReader } from './file-reader.ts'

export { envelopeOf } from './envelope-of.ts'
export { parseEnvelope, type Envelope } from './envelope.ts'
export { fileJournal } from './journal.ts'

/**
 * Files with one envelope a line, as `kcat -C -t sms -e -J` prints it, as places of a replay: `file:sms.ndjson`. `file:-` is standard
 * input: `open` copies all of it to a temporary file, which `close` deletes, because a plan reads it twice. It can be opened once.
 */
export function fileReplay(input: NodeJS.ReadableStream = process.stdin): ReplayPlaces {
  return {
    system: 'file',
    deadLetters: [],
    open: (path) => (path === '-' ? spooled(input) : existing(path)),
    publisher: () => Promise.reject(new ConfigError(['a file: nothing can be published to it'])),
  }
}

async function existing(path: string): Promise<ReplayReader> {
  await access(path).catch((cause: unknown) => {
    throw new ConfigError([`file ${path} cannot be read: ${describeError(cause)}`], 'CONFIG_INVALID', { cause })
  })
  return new FileReader({ path, name: path })
}

const READ_ONCE =
  'Standard input cannot be read again by another process. Save it as a file if its plan is to be run later.'

/** Only this user can read the folder. */
async function spooled(input: NodeJS.ReadableStream): Promise<ReplayReader> {
  const folder = await mkdtemp(join(tmpdir(), 'consume-once-'))
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true })
  const path = join(folder, 'input.ndjson')
  try {
    await pipeline(input, createWriteStream(path))
  } catch (cause) {
    await remove()
    throw new ConfigError([`standard input cannot be read: ${describeError(cause)}`], 'CONFIG_INVALID', { cause })
  }
  return new FileReader({ path, name: '-', warnings: [READ_ONCE], onClose: remove })
}
