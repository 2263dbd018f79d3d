/** A fault that is put into the library's own code on purpose: what does not find it is no proof. */
export interface Mutant {
  /** In kebab-case. */
  readonly name: string
  /** What it breaks, in one sentence. */
  readonly what: string
  /** What must find it. `unit`: a test without servers. */
  readonly layer: 'simulator' | 'corpus' | 'real servers' | 'unit'
  readonly patches: readonly Patch[]
  /** Arguments of jest, of which some test must fail then. Not of the simulator, which runs seeds. */
  readonly tests?: readonly string[]
}

export interface Patch {
  /** From the root of the repository. */
  readonly file: string
  /** Found exactly once. */
  readonly find: string
  readonly replace: string
}

/** The text of a file with the patches that are for it. */
export function patched(file: string, text: string, patches: readonly Patch[]): string {
  let changed = text
  for (const { find, replace, file: where } of patches) {
    if (where !== file) continue
    const found = changed.split(find).length - 1
    if (found !== 1) throw new Error(`${file}: expected one place with ${JSON.stringify(find)}, got ${found}`)
    changed = changed.replace(find, () => replace)
  }
  return changed
}
