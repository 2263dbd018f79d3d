/** What `engines` of @platformatic/kafka 2.12 asks for. */
export const NEEDED_NODE = '22.22 or later, or 24.6 or later'

export function isSupported(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major === 22) return minor >= 22
  return major === 24 ? minor >= 6 : major > 24
}
