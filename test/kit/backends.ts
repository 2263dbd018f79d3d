/** Backends of the suites. The memory store and the embedded Postgres need no server, the others do. */
const BACKENDS = ['memory', 'pglite', 'redis', 'postgres', 'mariadb', 'rabbitmq', 'kafka'] as const

export type Backend = (typeof BACKENDS)[number]

/**
 * The backends that `BACKENDS=memory,redis` leaves; unset or empty means all. An unknown name is an error: a misspelt
 * one would quietly leave its tests out.
 */
export function parseBackends(text: string | undefined): ReadonlySet<Backend> {
  const named = (text ?? '').split(',').map((name) => name.trim())
  const wanted = named.filter((name) => name !== '')
  const unknown = wanted.filter((name) => !isBackend(name))
  if (unknown.length > 0) {
    throw new TypeError(`BACKENDS: expected names out of ${BACKENDS.join(', ')}; got ${unknown.join(', ')}`)
  }
  return new Set(wanted.length === 0 ? BACKENDS : wanted.filter(isBackend))
}

export const backends: ReadonlySet<Backend> = parseBackends(process.env['BACKENDS'])

function isBackend(name: string): name is Backend {
  return (BACKENDS as readonly string[]).includes(name)
}
