import { readdirSync, readFileSync } from 'node:fs'

const BLOCK = /<!-- example: (?<file>[\w-]+\.ts)(?: (?<region>\w+))? -->\n\n```ts\n(?<code>[\s\S]*?)```/g

/** Pages that show examples. */
export const PAGES: readonly string[] = [
  'README.md',
  'docs/deploy.md',
  'docs/effects.md',
  'docs/migrate.md',
  'docs/observability.md',
  'docs/observe-only.md',
  'docs/tokens.md',
  'docs/guards.md',
  'docs/orm.md',
  'docs/quick-start.md',
  'docs/quick-start-kafka.md',
  'docs/quick-start-rabbitmq.md',
  'docs/replay.md',
  'docs/testing.md',
  'docs/traces.md',
  ...readdirSync('docs/questions').map((file) => `docs/questions/${file}`),
]

/** A page with each example's regions written into its code block. */
export function withExamples(page: string): string {
  return page.replace(BLOCK, (...match) => {
    const { file, region } = match.at(-1) as { file: string; region: string | undefined }
    const named = region === undefined ? file : `${file} ${region}`
    return `<!-- example: ${named} -->\n\n\`\`\`ts\n${regionsOf(file, region)}\`\`\``
  })
}

/** What an example shows of itself: everything between `#region readme`, or of another name, and `#endregion`. */
export function regionsOf(file: string, region = 'readme'): string {
  const source = readFileSync(`examples/${file}`, 'utf8')
  const pattern = new RegExp(`// #region ${region}\\n([\\s\\S]*?)// #endregion`, 'g')
  const regions = [...source.matchAll(pattern)].map(([, code]) => code ?? '')
  if (regions.length === 0) throw new Error(`examples/${file} has no region ${region}`)
  return regions.join('\n').replace(/\n{3,}/g, '\n\n')
}
