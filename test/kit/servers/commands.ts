import { execFile } from 'node:child_process'
import { accessSync, constants, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'

interface RunOptions {
  readonly timeoutMs: number
  readonly cwd?: string
  readonly env?: NodeJS.ProcessEnv
  readonly uid?: number
  readonly gid?: number
}

/** Runs a command to its end and gives its output; rejects with the command line and its last words. */
export function run(command: string, args: readonly string[], { timeoutMs, ...options }: RunOptions): Promise<string> {
  return new Promise((resolve, reject) => {
    const settings = { ...options, timeout: timeoutMs, killSignal: 'SIGKILL', maxBuffer: 64 << 20 } as const
    const child = execFile(command, args, settings, (error, stdout, stderr) => {
      if (!error) return resolve(stdout)
      const why = error.killed ? `no end within ${timeoutMs} ms` : `exit ${error.code ?? error.signal}`
      reject(new Error(`\`${[command, ...args].join(' ')}\`: ${why}${lastWords(stderr || stdout)}`, { cause: error }))
    })
    child.stdin?.end()
  })
}

/** The first executable of that name in `folders`, then in PATH. */
export function findProgram(name: string, folders: readonly string[] = []): string | undefined {
  const path = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
  return [...folders, ...path].map((folder) => join(folder, name)).find(isExecutable)
}

export function needProgram(name: string, folders: readonly string[] = []): string {
  const found = findProgram(name, folders)
  if (found === undefined) throw new Error(`no ${name} in ${[...folders, 'PATH'].join(', ')}`)
  return found
}

/** `base/<any>/leaf` for every subfolder of `base`, the highest version first; none where `base` does not exist. */
export function versionFolders(base: string, leaf: string): readonly string[] {
  try {
    const versions = readdirSync(base).toSorted((a, b) => b.localeCompare(a, 'en', { numeric: true }))
    return versions.map((version) => join(base, version, leaf))
  } catch {
    return []
  }
}

export function isRoot(): boolean {
  return process.getuid?.() === 0
}

export function lastWords(output: string): string {
  const lines = output.trim().split('\n').slice(-8)
  return lines.join('').trim() === '' ? '' : `:\n${lines.join('\n')}`
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
