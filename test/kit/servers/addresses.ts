import { CATALOGUE, SERVER_NAMES } from './catalogue.ts'
import { sharedEndpoint } from './server.ts'

/**
 * The variables that name the shared servers, to tests and to programs. All are looked for at the same time; whatever is missing is
 * told at once.
 */
export async function addressesOfAll(): Promise<Record<string, string>> {
  const found = await Promise.allSettled(SERVER_NAMES.map(sharedEndpoint))
  const missing = found.flatMap((result) => (result.status === 'rejected' ? [(result.reason as Error).message] : []))
  if (missing.length > 0) throw new Error(missing.join('\n\n'))
  const entries = SERVER_NAMES.flatMap((name, index) => {
    const result = found[index]
    const endpoint = result?.status === 'fulfilled' ? result.value : ''
    return [CATALOGUE[name].variable, CATALOGUE[name].testVariable].map((variable) => [variable, endpoint] as const)
  })
  return Object.fromEntries(entries)
}
