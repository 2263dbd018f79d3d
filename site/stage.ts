import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, extname, join, normalize, relative } from 'node:path'
import { entries } from '../packaging/entries.ts'
import { descriptionOf, withFrontMatter } from './front-matter.ts'
import { figuresOf, landingPage, recordedSummary } from './landing.ts'
import { withLinks, withTabs } from './markdown.ts'
import { MOVED, movedPage } from './moved.ts'

/**
 * Copies what the site shows to `site/.pages`: a landing page, the README as the overview, everything below `docs/`, the other
 * Markdown of the root, and each file of the repository that a page links to, as a page of its own. So an example on the site is
 * the tested file.
 */
const OUT = 'site/.pages'
const ROOT_PAGES = ['ARCHITECTURE.md', 'CHANGELOG.md', 'CODE_OF_CONDUCT.md', 'CONTRIBUTING.md', 'SECURITY.md']
/** Pages for those who follow a link to them: in a search they would hide the guides. */
const NOT_SEARCHED = /^docs\/(?:decisions|proof)\/|^docs\/proof\.md$|^CHANGELOG\.md$/
const LANGUAGES: Readonly<Record<string, string>> = {
  '.ts': 'ts',
  '.tsx': 'tsx',
  '.cjs': 'js',
  '.json': 'json',
  '.ndjson': 'json',
  '.yml': 'yaml',
  '.sql': 'sql',
  '.lua': 'lua',
  '.prisma': 'txt',
  '.pml': 'txt',
}

rmSync(OUT, { recursive: true, force: true })
const linked = new Set<string>()
stagePage('README.md', pageOf('README.md'))
write('index.md', landingPage(pictureOf('README.md'), figuresOf(recordedSummary)))
for (const file of ROOT_PAGES) stagePage(file, pageOf(file))
for (const file of readdirSync('docs', { recursive: true, encoding: 'utf8' })) {
  if (file.endsWith('.md')) stagePage(`docs/${file}`, pageOf(`docs/${file}`))
}
const decisions = readdirSync('docs/decisions').map((file) => {
  const [title = file] = readFileSync(`docs/decisions/${file}`, 'utf8').split('\n')
  return `- [${title.replace('# ', '')}](./${file})`
})
write('decisions/index.md', `# Decisions\n\nWhat was chosen, and why.\n\n${decisions.join('\n')}\n`)
cpSync('docs/images', `${OUT}/images`, { recursive: true })
cpSync('docs/pictures', `${OUT}/pictures`, { recursive: true })
if (existsSync('site/public')) cpSync('site/public', `${OUT}/public`, { recursive: true })
cpSync('site/favicon.svg', `${OUT}/public/favicon.svg`)
for (const [from, to] of Object.entries(MOVED)) write(`public/${from}.html`, movedPage(to))
cpSync('docs/performance', `${OUT}/performance`, { recursive: true })
// A page of source may link to further files.
for (const path of linked) stageSource(path)
stageEntryPoints()

function stagePage(from: string, to: string): void {
  const markdown = readFileSync(from, 'utf8')
  const text = withLinks(markdown, (target) => {
    const [path = '', anchor] = target.split('#')
    if (path === '') return target
    const file = normalize(join(dirname(from), path)).replace(/\/$/, '')
    const page = pageOf(file)
    if (page.startsWith('source/')) linked.add(file)
    const link = relative(dirname(to), page)
    return `${link.startsWith('.') ? link : `./${link}`}${anchor === undefined ? '' : `#${anchor}`}`
  })
  const description = descriptionOf(markdown)
  const found = NOT_SEARCHED.test(from) ? { search: false } : {}
  write(
    to,
    withFrontMatter({ source: from, ...found, ...(description === undefined ? {} : { description }) }, withTabs(text)),
  )
}

/** The first picture of a page, as it is on the site. */
function pictureOf(file: string): string {
  const [, alt, path = ''] = /!\[([^\]]*)\]\(([^)]+)\)/.exec(readFileSync(file, 'utf8')) ?? []
  return `![${alt}](./${pageOf(path)})`
}

/** Where a file of the repository is on the site. */
function pageOf(file: string): string {
  if (file === 'README.md') return 'overview.md'
  if (file === 'docs/README.md') return 'contents.md'
  // docs/security.md is there too, and the names of what is built do not differ by case.
  if (file === 'SECURITY.md') return 'vulnerabilities.md'
  if (ROOT_PAGES.includes(file)) return file
  if (file.startsWith('docs/') && /\.(md|png|svg)$/.test(file)) return file.slice('docs/'.length)
  return file.endsWith('.md') ? `source/${file}` : `source/${file}.md`
}

function stageSource(path: string): void {
  const title = `# ${path}\n\n`
  if (statSync(path).isDirectory()) {
    const files = readdirSync(path).map((name) => (statSync(join(path, name)).isDirectory() ? `${name}/` : name))
    writeSource(path, `${title}${files.map((name) => `- \`${name}\``).join('\n')}\n`)
    return
  }
  if (path.endsWith('.md')) {
    stagePage(path, pageOf(path))
    return
  }
  const text = readFileSync(path, 'utf8')
  const language = LANGUAGES[extname(path)] ?? 'txt'
  writeSource(path, `${title}\`\`\`\`\`${text.length > 200_000 ? 'txt' : language}\n${text}\n\`\`\`\`\`\n`)
}

/** Code has a search of its own where the repository is; here it would hide the guides. */
function writeSource(path: string, text: string): void {
  write(`source/${path}.md`, withFrontMatter({ source: path, search: false }, text))
}

/** One file for each entry point of the package, named as users import it; typedoc makes a page of each. */
function stageEntryPoints(): void {
  rmSync('site/.api', { recursive: true, force: true })
  mkdirSync('site/.api')
  for (const { name, source } of entries()) {
    writeFileSync(`site/.api/${name === '.' ? 'consume-once' : basename(name)}.ts`, `export * from '../../${source}'\n`)
  }
}

function write(page: string, text: string): void {
  mkdirSync(dirname(join(OUT, page)), { recursive: true })
  writeFileSync(join(OUT, page), text)
}
