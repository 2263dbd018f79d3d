import { readFileSync } from 'node:fs'

const BLOCK = /<!-- example: (?<file>[\w-]+\.ts) -->\n\n```ts\n(?<code>[\s\S]*?)```/g

/** The README with each example's regions written into its code block. */
export function withExamples(readme: string): string {
  return readme.replace(BLOCK, (...match) => {
    const { file } = match.at(-1) as { file: string }
    return `<!-- example: ${file} -->\n\n\`\`\`ts\n${regionsOf(file)}\`\`\``
  })
}

/** What an example shows of itself: everything between `#region readme` and `#endregion`. */
function regionsOf(file: string): string {
  const source = readFileSync(`examples/${file}`, 'utf8')
  const regions = [...source.matchAll(/\/\/ #region readme\n([\s\S]*?)\/\/ #endregion/g)].map(([, code]) => code ?? '')
  if (regions.length === 0) throw new Error(`examples/${file} has no region readme`)
  return regions.join('\n').replace(/\n{3,}/g, '\n\n')
}
