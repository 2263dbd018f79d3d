/** For people, and for JSON. */
export function dateOf(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString()
}
