// tsx test/kit/servers/have.ts rabbitmq 4.3
//
// Fetches that version of a server where it is not there yet. Says why not, and fails, where it cannot be had.

import { needInstalled } from './programs.ts'
import { knownVersion, VERSIONS, type Versioned } from './versions.ts'

async function have(name = '', version = ''): Promise<void> {
  if (!isVersioned(name)) throw new TypeError(`expected one of ${Object.keys(VERSIONS).join(', ')}, got ${name}`)
  await needInstalled(name, knownVersion(name, version))
}

function isVersioned(name: string): name is Versioned {
  return Object.hasOwn(VERSIONS, name)
}

have(...process.argv.slice(2)).catch((error: unknown) => {
  console.error((error as Error).message)
  process.exitCode = 1
})
