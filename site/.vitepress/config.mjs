import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import llmstxt from 'vitepress-plugin-llms'
import { withMermaid } from 'vitepress-plugin-mermaid'
import { manifestOf, repositoryOf } from '../../packaging/stage.ts'
import { anchorOf } from '../markdown.ts'
import { fieldOf, SEARCH_FIELDS } from '../search-words.ts'

const manifest = manifestOf('..')
const { version } = manifest
const repository = repositoryOf(manifest)
const DESCRIPTION = 'Kafka and RabbitMQ deliver a message at least once. This library makes its effect happen once.'

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

/** Groups that a reader opens to look something up. */
const LOOKED_UP = new Set(['Reference', 'Project'])

const WIDE = new Set(['guarantees.md', 'choose.md', 'proof.md', 'compatibility.md', 'api/index.md'])

export default withMermaid({
  // Not `mermaid`: at the load event mermaid itself draws each element of that class, and before ours it draws an error.
  mermaidPlugin: { class: 'diagram' },
  title: 'consume-once',
  description: DESCRIPTION,
  lang: 'en',
  srcDir: '.pages',
  outDir: 'dist',
  cacheDir: '.cache',
  cleanUrls: true,
  head: [
    ['meta', { name: 'theme-color', content: '#1f6feb' }],
    ['link', { rel: 'icon', type: 'image/svg+xml', href: '/favicon.svg' }],
  ],
  transformHead({ title, description }) {
    return Object.entries({
      'og:type': 'website',
      'og:site_name': 'consume-once',
      'og:title': title,
      'og:description': description,
    }).map(([property, content]) => ['meta', { property, content }])
  },
  markdown: {
    anchor: { slugify: anchorOf },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
  },
  // A table of five columns needs the place of the outline, and a file has none.
  transformPageData(page) {
    const { relativePath } = page
    if (WIDE.has(relativePath) || relativePath.startsWith('source/')) page.frontmatter.aside = false
    const { source } = page.frontmatter
    if (source === undefined) page.frontmatter.editLink = false
    else page.frontmatter.edit = `${repository}/edit/main/${source}`
  },
  vite: {
    plugins: [
      llmstxt({
        // Each link begins at the root of the site, or has its address where package.json knows it.
        ...(typeof manifest.homepage === 'string' ? { domain: manifest.homepage.replace(/\/$/, '') } : {}),
        description: DESCRIPTION,
        ignoreFiles: ['source/**', 'api/**', 'proof.md', 'proof/**', 'decisions/**', 'CHANGELOG.md'],
      }),
    ],
  },
  themeConfig: {
    search: {
      provider: 'local',
      options: {
        miniSearch: {
          options: { fields: SEARCH_FIELDS, extractField: fieldOf },
          // Sent to the browser as text: a function here sees nothing outside of itself.
          searchOptions: {
            boost: { title: 4, text: 2, titles: 1, words: 20 },
            fuzzy: (term) => (term.length > 4 ? 0.2 : false),
            boostDocument: (id) =>
              /^\/(?:api|decisions|CHANGELOG|CONTRIBUTING|proof|performance|compatibility|options|cli|contents|source)\b/.test(
                id,
              )
                ? 0.1
                : 1,
          },
        },
      },
    },
    // Only the owner knows the address of the repository: package.json has it before the first release.
    ...(repository === undefined
      ? {}
      : { editLink: { pattern: ({ frontmatter }) => frontmatter.edit, text: 'Edit this page' } }),
    outline: [2, 3],
    nav: [
      { text: 'Contents', link: '/contents' },
      { text: 'Guarantees', link: '/guarantees' },
      TRY_IT,
      { text: 'API', link: '/api/' },
      { text: `v${version}`, link: '/CHANGELOG' },
    ],
    sidebar: [
      ...sidebar().map((group, at) => ({
        ...group,
        items: at === 0 ? [...group.items, TRY_IT] : group.items,
        // With a link, because a group without one is a button around a button.
        ...(LOOKED_UP.has(group.text) ? { collapsed: true, link: `/contents#${anchorOf(group.text)}` } : {}),
      })),
      { text: 'API', link: '/api/', collapsed: true, items: pagesIn('api') },
      { text: 'Decisions', link: '/decisions/', collapsed: true, items: pagesIn('decisions') },
    ],
  },
})
