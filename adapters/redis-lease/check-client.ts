/** Problems of what was given as a client: none where it has all these methods. */
export function checkClient(library: string, redis: unknown, methods: readonly string[]): string[] {
  const missing = methods.filter((name) => !hasMethod(redis, name))
  if (missing.length === 0) return []
  return [`redis: expected a client of ${library}, got ${typeof redis} without ${missing.join(', ')}`]
}

function hasMethod(value: unknown, name: string): boolean {
  return typeof value === 'object' && value !== null && typeof (value as Record<string, unknown>)[name] === 'function'
}
