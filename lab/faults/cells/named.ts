const patterns = new Map<string, RegExp>()

/** Whether a name matches a glob in which * matches anything. */
export function isNamed(name: string, glob: string): boolean {
  let pattern = patterns.get(glob)
  if (pattern === undefined) {
    const parts = glob.split('*').map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`))
    pattern = new RegExp(`^${parts.join('.*')}$`)
    patterns.set(glob, pattern)
  }
  return pattern.test(name)
}
