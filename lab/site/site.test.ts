// The documentation site in a browser: pages, search, and that everybody can read it.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join, normalize } from 'node:path'
import { describe, expect, it, jest } from '@jest/globals'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import { chromium, type Browser, type Page } from 'playwright-core'
import { violationsOf } from '../../test/kit/browser.ts'
import { needChromium } from '../../test/kit/servers/programs.ts'
import { SEARCH_WORDS } from '../../site/search-words.ts'
import { layoutFaults, WIDTHS } from './geometry.ts'

// The build of the site is most of it, on a machine that is busy.
jest.setTimeout(900_000)

const MAIN_PAGES = [
  '/',
  '/overview',
  '/contents',
  '/guarantees',
  '/choose',
  '/faq',
  '/migrate',
  '/kafka',
  '/api/kafkajs',
]
const REFERENCE = /^\/(?:api|decisions|source|proof|CHANGELOG|performance)\b/
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
}

describe('the documentation site', () => {
  let server: Server
  let browser: Browser
  let origin: string

  beforeAllOpen(async (own) => {
    execFileSync('npm', ['run', '--silent', 'site'], { stdio: 'pipe' })
    server = own(
      createServer(({ url = '/' }, response) => {
        const path = join('site/dist', normalize(new URL(url, 'http://site').pathname))
        const file = [path, `${path}.html`, join(path, 'index.html')].find(
          (one) => existsSync(one) && extname(one) !== '',
        )
        response.writeHead(file === undefined ? 404 : 200, {
          'content-type': TYPES[extname(file ?? '')] ?? 'text/plain',
        })
        response.end(file === undefined ? '' : readFileSync(file))
      }),
    ).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    browser = own(await chromium.launch({ executablePath: await needChromium(), chromiumSandbox: false }))
  })

  async function open(path: string, options: { width?: number; theme?: 'light' | 'dark' } = {}): Promise<Page> {
    const context = await browser.newContext({
      viewport: { width: options.width ?? 1280, height: 860 },
      colorScheme: options.theme ?? 'light',
      reducedMotion: 'reduce',
    })
    const page = await context.newPage()
    await page.goto(origin + path)
    await page.getByRole('heading', { level: 1 }).first().waitFor()
    return page
  }

  it.each(MAIN_PAGES)('%s is accessible, in light and in dark colours', async (path) => {
    for (const theme of ['light', 'dark'] as const) {
      const page = await open(path, { theme })
      await picture(page, path, theme)
      expect([theme, ...(await violationsOf(page))]).toEqual([theme])
      await page.context().close()
    }
  })

  it.each(MAIN_PAGES)('%s has nothing cut off or covered, from a telephone to a desktop', async (path) => {
    const page = await open(path)
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 860 })
      await picture(page, path, String(width))
      expect([width, ...(await layoutFaults(page))]).toEqual([width])
    }
    await page.context().close()
  })

  it('would find a sidebar that is too narrow for its links', async () => {
    const page = await open('/guarantees', { width: 1440 })
    await page.addStyleTag({ content: ':root { --vp-layout-max-width: 1640px !important; }' })
    expect(await layoutFaults(page)).not.toEqual([])
    await page.context().close()
  })

  it('begins with one sentence, the first command and three ways to go on', async () => {
    const page = await open('/')
    const ways = page.locator('.actions a')
    expect(await ways.allInnerTexts()).toEqual(['Quick start', 'Try to break it', 'Choose a scheme'])
    expect(await page.locator('div.language-sh code').first().innerText()).toBe('npx consume-once demo')
    expect(await page.evaluate("document.querySelector('.vp-doc img').naturalWidth")).toBeGreaterThan(0)
    for (const at of [0, 1, 2]) {
      await ways.nth(at).click()
      await page.getByRole('heading', { level: 1 }).filter({ hasNotText: 'consume-once' }).waitFor()
      await page.goto(origin)
    }
    await page.context().close()
  })

  it('has the frameworks of a guide as tabs', async () => {
    const page = await open('/http')
    const tabs = page.locator('.vp-code-group .tabs label')
    expect(await tabs.allInnerTexts()).toEqual(['Express', 'Nest on Express', 'Fastify', 'Hono'])
    await tabs.nth(2).click()
    expect(await page.locator('.vp-code-group .blocks .active').innerText()).toContain('onFastify')
    await page.context().close()
  })

  it('tells a link preview what a page is for, and has an icon', async () => {
    const page = await open('/limits')
    const told = (name: string): Promise<string | null> =>
      page.locator(`meta[property="og:${name}"]`).getAttribute('content')
    expect(await told('title')).toContain('Limits of a provider')
    expect(await told('description')).toMatch(/^With this page your consumer calls .+[.…]$/)
    const icon = await page.locator('link[rel=icon]').getAttribute('href')
    expect((await page.request.get(`${origin}${icon ?? ''}`)).headers()['content-type']).toBe('image/svg+xml')
    await page.context().close()
  })

  it('draws the states of a record, and the step after each verdict, and never an error', async () => {
    const page = await open('/protocol')
    const diagrams = page.locator('.diagram svg')
    await diagrams.nth(1).waitFor()
    expect(await diagrams.evaluateAll((all) => all.map((one) => one.getAttribute('aria-roledescription')))).toEqual([
      'stateDiagram',
      'flowchart-v2',
    ])
    const [states, verdicts] = await diagrams.allTextContents()
    expect(states).toContain('set aside')
    expect(verdicts).toContain('taken-over')
    await diagrams.first().scrollIntoViewIfNeeded()
    await picture(page, '/protocol', 'diagram')
    await page.context().close()
  })

  it('finds the page of each word that people type, before any other', async () => {
    const words = Object.entries(SEARCH_WORDS).flatMap(([id, all]) => all.map((word) => [word, id] as const))
    expect(words.length).toBeGreaterThanOrEqual(40)
    const page = await open('/contents')
    await page.getByRole('button', { name: 'Search' }).first().click()
    const missed: string[] = []
    for (const [word, id] of words) {
      const found = await firstFound(page, word)
      if (found.replace(/#.*/, '') !== id.replace(/#.*/, '')) missed.push(`${word}: expected ${id}, got ${found}`)
    }
    expect(missed).toEqual([])
    // What is not in the list, too: guides come before references.
    expect(await firstFound(page, 'dead letter')).not.toMatch(REFERENCE)
    expect(await firstFound(page, 'defineConsumer')).not.toMatch(REFERENCE)
    await page.context().close()
  })

  it('shows an example as the file that the tests run', async () => {
    const page = await open('/source/examples/kafka-inbox.ts')
    const shown = await page.locator('div.language-ts code').innerText()
    expect(shown.trim()).toBe(readFileSync('examples/kafka-inbox.ts', 'utf8').trim())
    await page.context().close()
  })

  it('leads from the address that a page had before it was merged into another', async () => {
    const page = await open('/tokens')
    await page.getByRole('heading', { level: 2, name: 'One-time tokens' }).waitFor()
    expect(page.url()).toBe(`${origin}/once#one-time-tokens`)
    await page.context().close()
  })

  it('leads from each page to the one to play with, and back', async () => {
    const page = await open('/choose')
    await page.getByRole('link', { name: 'Try to break it' }).first().click()
    await page.locator('#compared tr').nth(5).waitFor()
    await page.getByRole('link', { name: 'Guarantees' }).first().click()
    await page.getByRole('heading', { level: 1, name: 'Guarantees' }).waitFor()
    expect(new URL(page.url()).pathname).toBe('/guarantees')
    await page.context().close()
  })

  it('has its pages in the order of a reader', async () => {
    const page = await open('/contents')
    const groups = await page.locator('.VPSidebar .VPSidebarItem.level-0 > .item h2').allInnerTexts()
    expect(groups).toEqual(['Start', 'Learn', 'Guides', 'Run', 'Reference', 'Project', 'API', 'Decisions'])
    await page.context().close()
  })

  it('describes functions before types, and only what is of the library', async () => {
    const page = await open('/api/consume-once')
    expect(await page.locator('.vp-doc h2').first().innerText()).toMatch(/^Functions/)
    expect(await page.locator('.vp-doc').innerText()).not.toContain('captureStackTrace')
    await page.context().close()
  })

  it('has a text version of each page for programs, and a list of them with a sentence for each', () => {
    const list = readFileSync('site/dist/llms.txt', 'utf8')
    const pages = [...list.matchAll(/^\s*- \[.+?\]\((.+?\.md)\)(.*)$/gm)]
    expect(pages.length).toBeGreaterThan(30)
    expect(pages.filter(([, path = '', says = '']) => !path.startsWith('/') || !/^: \S.+/.test(says))).toEqual([])
    expect(list).toContain('(/guarantees.md)')
    expect(readFileSync('site/dist/guarantees.md', 'utf8')).toContain('message lost?')
  })
})

/** Where the first result of a search leads. Results of the word before go away first. */
async function firstFound(page: Page, word: string): Promise<string> {
  const results = page.getByRole('option').locator('a')
  await page.getByRole('searchbox').fill('')
  await results.first().waitFor({ state: 'detached' })
  await page.getByRole('searchbox').fill(word)
  await results.first().waitFor()
  return (await results.first().getAttribute('href')) ?? 'nothing'
}

/** For people to look at: `SITE_PICTURES=folder npm run lab -- lab/site`. */
async function picture(page: Page, path: string, look: string): Promise<void> {
  const folder = process.env['SITE_PICTURES']
  if (folder !== undefined)
    await page.screenshot({ path: join(folder, `site${path.replaceAll('/', '-')}-${look}.png`) })
}
