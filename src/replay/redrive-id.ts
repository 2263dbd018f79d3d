const PREFIX = 'redrive-'

export function redriveId(hex: string): string {
  return `${PREFIX}${hex.slice(0, 8)}`
}

/** Else it is that of a replay. The pages of the dashboard use this, too. */
export function isRedriveId(id: string): boolean {
  return id.startsWith(PREFIX)
}
