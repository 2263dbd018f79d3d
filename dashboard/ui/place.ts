// The part of an address behind `#/`. Pure.

/** A place in the dashboard: the part of the address behind `#/`. */
export interface Route {
  /** `['records', 'parked']` */
  readonly path: readonly string[]
  readonly query: URLSearchParams
}

export function routeOf(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#?\/?/, '').split(/\?(.*)/s)
  return {
    path: path
      .split('/')
      .filter((part) => part !== '')
      .map(decoded),
    query: new URLSearchParams(query),
  }
}

/** The address of a place, for `href`. What is `undefined` or empty is left out. */
export function href(path: readonly string[], query: Readonly<Record<string, string | undefined>> = {}): string {
  const given = Object.entries(query).filter((pair): pair is [string, string] => (pair[1] ?? '') !== '')
  const words = new URLSearchParams(given).toString()
  return `#/${path.map(encodeURIComponent).join('/')}${words === '' ? '' : `?${words}`}`
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
