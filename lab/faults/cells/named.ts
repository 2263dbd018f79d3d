/** Whether a cell is meant by a name in which * stands for anything. */
export function isNamed(name: string, glob: string): boolean {
  const parts = glob.split('*').map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`))
  return new RegExp(`^${parts.join('.*')}$`).test(name)
}
