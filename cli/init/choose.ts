import { asked } from '../confirm.ts'
import { misuse } from '../exit.ts'
import type { Client } from './clients.ts'

/** Words of a flag: each server, and each client where a server has several. */
export function wordsOf(clients: readonly Client[]): readonly string[] {
  return [...new Set(clients.flatMap(({ server, name }) => [server, ...(alone(clients, server) ? [] : [name])]))]
}

function alone(clients: readonly Client[], server: string): boolean {
  return clients.filter((client) => client.server === server).length === 1
}

/**
 * The client that a flag names, or the only one of package.json. Of several it asks, on a terminal.
 *
 * @throws CommandError, exit 2: several fit, or none, and nobody can be asked
 */
export async function chosen<C extends Client>(
  flag: string,
  clients: readonly C[],
  word: string | undefined,
  packages: ReadonlySet<string>,
): Promise<C> {
  const named = clients.filter(({ server, name }) => word === undefined || word === server || word === name)
  const installed = named.filter(({ npm }) => packages.has(npm))
  // The first client of a server is the one that the guides have.
  const firsts = named.filter(({ server }, at) => named.findIndex((client) => client.server === server) === at)
  const fitting = installed.length > 0 ? installed : firsts
  const [only, another] = fitting
  if (only !== undefined && another === undefined) return only
  return asking(flag, fitting, installed.length > 0)
}

async function asking<C extends Client>(flag: string, fitting: readonly C[], areInstalled: boolean): Promise<C> {
  const found = areInstalled
    ? `package.json has ${fitting.map(({ npm }) => npm).join(' and ')}`
    : 'package.json has no client of one'
  const flags = [...new Set(fitting.map(({ server, name }) => (alone(fitting, server) ? server : name)))]
  if (!process.stdin.isTTY) {
    throw misuse(`${flag}: ${found}: say which, ${flags.map((word) => `${flag} ${word}`).join(' or ')}`)
  }
  const list = fitting.map(({ suits }, at) => `  ${at + 1}  ${suits}`).join('\n')
  const answer = await asked(`${flag}: ${found}. Which?\n${list}\nNumber: `)
  const choice = /^\d$/.test(answer) ? fitting[Number(answer) - 1] : undefined
  if (choice !== undefined) return choice
  throw misuse(`${flag}: expected a number from 1 to ${fitting.length}, got ${JSON.stringify(answer)}`)
}
