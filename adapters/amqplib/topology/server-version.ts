/** `false` also if the version is unknown. */
export function isAtLeast(version: string, major: number, minor: number): boolean {
  const [ownMajor = Number.NaN, ownMinor = 0] = version.split('.').map((part) => Number.parseInt(part, 10))
  return ownMajor > major || (ownMajor === major && ownMinor >= minor)
}
