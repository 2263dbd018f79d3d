import { useEffect, useState } from 'preact/hooks'
import { href, routeOf, type Route } from './place.ts'

export function go(path: readonly string[], query?: Readonly<Record<string, string | undefined>>): void {
  window.location.hash = href(path, query)
}

export function useRoute(): Route {
  const [route, setRoute] = useState(() => routeOf(window.location.hash))
  useEffect(() => {
    const changed = (): void => setRoute(routeOf(window.location.hash))
    window.addEventListener('hashchange', changed)
    return () => window.removeEventListener('hashchange', changed)
  }, [])
  return route
}
