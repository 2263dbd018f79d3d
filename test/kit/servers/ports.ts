import { existsSync, mkdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { inRun, otherRuns } from './test-run.ts'

// Below the range systems take for outgoing connections (Linux 32768, others 49152): a port out of that range could be
// lost to some client while its server is down, and a client dialling it there can even be connected to itself.
const LOWEST = 20_000
const HIGHEST = 32_000

/** A free loopback port, given to one test run only once, so that it is still free after a kill. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 200; tries++) {
    const port = LOWEST + Math.floor(Math.random() * (HIGHEST - LOWEST))
    if (reserve(port) && (await isFree(port))) return port
  }
  throw new Error(`no free port between ${LOWEST} and ${HIGHEST} in 200 tries`)
}

/**
 * mkdir is atomic between processes: of two that want the same port one gets it. Of two runs of the machine that want the same
 * port at the same moment neither may get it.
 */
function reserve(port: number): boolean {
  try {
    mkdirSync(inRun('ports', String(port)))
    return !otherRuns().some((run) => existsSync(join(run, 'ports', String(port))))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const listener = createServer()
    listener.once('error', () => resolve(false))
    listener.listen(port, '127.0.0.1', () => listener.close(() => resolve(true)))
  })
}
