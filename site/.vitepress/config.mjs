import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import llmstxt from 'vitepress-plugin-llms'
import { withMermaid } from 'vitepress-plugin-mermaid'
import { anchorOf } from '../markdown.ts'

const { version } = JSON.parse(readFileSync('../package.json', 'utf8'))

/** The page to play with is no page of VitePress. */
const TRY_IT = { text: 'Try to break it', link: '/try/index.html', target: '_self' }

/** The contents of docs/README.md are the sidebar. */
function sidebar() {
  const [, ...groups] = readFileSync('.pages/contents.md', 'utf8').split(/^## /m)
  return groups.map((group) => {
    const [text, ...lines] = group.split('\n')
    const items = lines.flatMap((line) => {
      const match = /^- \[(?<text>.+?)\]\((?<link>.+?)\)/.exec(line)
      return match ? [{ text: match.groups.text.replaceAll('`', ''), link: linkOf(match.groups.link) }] : []
    })
    return { text, items }
  })
}

function linkOf(target) {
  return `/${target.replace(/^\.\//, '').replace(/(index)?\.md$/, '')}`
}

function pagesIn(folder) {
  const files = existsSync(`.pages/${folder}`) ? readdirSync(`.pages/${folder}`) : []
  return files
    .filter((file) => file.endsWith('.md') && file !== 'index.md')
    .map((file) => ({ text: titleOf(`.pages/${folder}/${file}`), link: `/${folder}/${basename(file, '.md')}` }))
}

function titleOf(file) {
  return /^# (.*)$/m.exec(readFileSync(file, 'utf8'))[1].replace(/^\d{4} /, '')
}

const WIDE = new Set(['guarantees.md', 'choose.md', 'proof.md', 'compatibility.md', 'api/index.md'])

export default withMermaid({
  // Not `mermaid`: at the load event mermaid itself draws each element of that class, and before ours it draws an error.
  mermaidPlugin: { class: 'diagram' },
  title: 'consume-once',
  description: 'Kafka and RabbitMQ deliver a message at least once. This library makes its effect happen once.',
  lang: 'en',
  srcDir: '.pages',
  outDir: 'dist',
  cacheDir: '.cache',
  cleanUrls: true,
  head: [['meta', { name: 'theme-color', content: '#1f6feb' }]],
  markdown: {
    anchor: { slugify: anchorOf },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
  },
  // A table of five columns needs the place of the outline, and a file has none.
  transformPageData(page) {
    const { relativePath } = page
    if (WIDE.has(relativePath) || relativePath.startsWith('source/')) page.frontmatter.aside = false
  },
  vite: { plugins: [llmstxt({ ignoreFiles: ['source/**', 'api/**', 'proof.md', 'CHANGELOG.md'] })] },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Contents', link: '/contents' },
      { text: 'Guarantees', link: '/guarantees' },
      TRY_IT,
      { text: 'API', link: '/api/' },
      { text: `v${version}`, link: '/CHANGELOG' },
    ],
    sidebar: [
      ...sidebar().map((group, at) => (at === 0 ? { ...group, items: [...group.items, TRY_IT] } : group)),
      { text: 'API', link: '/api/', collapsed: true, items: pagesIn('api') },
      { text: 'Decisions', link: '/decisions/', collapsed: true, items: pagesIn('decisions') },
    ],
  },
})
