/** Formats the value of an option or an argument in a problem. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return `'${value}'`
  // JSON has no NaN.
  if (typeof value === 'number' || typeof value === 'bigint') return String(value)
  return JSON.stringify(value) ?? 'nothing'
}
