import { readdirSync, readFileSync } from 'node:fs'

const BLOCK =
  /<!-- example: (?<file>[\w./-]+\.(?<kind>ts|yaml))(?: (?<region>\w+))? -->\n\n```\k<kind>\n(?<code>[\s\S]*?)```/g

/** Every page that the package or the documentation site shows to users. */
export const ALL_PAGES: readonly string[] = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync('docs', { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file}`)
    .toSorted(),
]

/** Pages that show examples. */
export const PAGES: readonly string[] = ALL_PAGES.filter((page) =>
  readFileSync(page, 'utf8').includes('<!-- example: '),
)

/** A page with each example's regions written into its code block. */
export function withExamples(page: string): string {
  return page.replace(BLOCK, (...match) => {
    const { file, kind, region } = match.at(-1) as { file: string; kind: string; region: string | undefined }
    const named = region === undefined ? file : `${file} ${region}`
    return `<!-- example: ${named} -->\n\n\`\`\`${kind}\n${regionsOf(file, region)}\`\`\``
  })
}

/**
 * What an example shows of itself: everything between `#region readme`, or of another name, and `#endregion`, without the
 * indentation of its surroundings.
 */
export function regionsOf(file: string, region = 'readme'): string {
  const source = readFileSync(`examples/${file}`, 'utf8')
  const pattern = new RegExp(`^ *(?://|#) #region ${region}\\n([\\s\\S]*?)^ *(?://|#) #endregion`, 'gm')
  const regions = [...source.matchAll(pattern)].map(([, code]) => withoutIndent(code ?? ''))
  if (regions.length === 0) throw new Error(`examples/${file} has no region ${region}`)
  return regions.join('\n').replace(/\n{3,}/g, '\n\n')
}

function withoutIndent(code: string): string {
  const indents = [...code.matchAll(/^ *(?=\S)/gm)].map(([spaces]) => spaces.length)
  const least = Math.min(...indents)
  return code.replaceAll(new RegExp(`^ {${least}}`, 'gm'), '')
}

/** A fenced block of a page, and the comment that says where it comes from. */
export interface Block {
  readonly page: string
  readonly line: number
  readonly language: string
  /** Inside `<!-- … -->` above the block. */
  readonly source: string | undefined
  readonly text: string
}

export function blocksOf(page: string, markdown: string): readonly Block[] {
  const fence =
    /(?:<!-- (?<source>[^\n]*) -->\n\n)?^(?<indent> *)```(?<language>\w*)\n(?<text>[\s\S]*?)^\k<indent>```$/gm
  return [...markdown.matchAll(fence)].map((match) => {
    const { source, language = '', text = '' } = match.groups ?? {}
    const before = markdown.slice(0, match.index + match[0].indexOf('```'))
    return { page, line: before.split('\n').length, language, source, text }
  })
}
