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

// The build of the site is most of it, on a machine that is busy.
jest.setTimeout(900_000)

const MAIN_PAGES = ['/', '/contents', '/guarantees', '/choose', '/faq', '/migrate', '/kafka', '/api/kafkajs']
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

  it.each(MAIN_PAGES)('%s is no wider than a telephone', async (path) => {
    const page = await open(path, { width: 390 })
    await picture(page, path, 'phone')
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)
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

  it('finds a page about dead letters by its search', async () => {
    const page = await open('/')
    await page.getByRole('button', { name: 'Search' }).first().click()
    await page.getByRole('searchbox').fill('dead letter')
    await page.getByRole('option').first().waitFor()
    expect(await page.getByRole('option').count()).toBeGreaterThan(3)
    await page.context().close()
  })

  it('shows an example as the file that the tests run', async () => {
    const page = await open('/source/examples/kafka-inbox.ts')
    const shown = await page.locator('div.language-ts code').innerText()
    expect(shown.trim()).toBe(readFileSync('examples/kafka-inbox.ts', 'utf8').trim())
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
    const page = await open('/')
    const groups = await page.locator('.VPSidebar .VPSidebarItem.level-0 > .item h2').allInnerTexts()
    expect(groups).toEqual([
      'What it promises',
      'Quick starts',
      'Wrap an existing consumer',
      'Choose a scheme',
      'Identity',
      'Effects you cannot roll back',
      'Replay',
      'Run it',
      'Test it',
      'Reference',
      'Errors by code',
      'Questions',
      'Glossary',
      'API',
      'Decisions',
    ])
    await page.context().close()
  })

  it('describes functions before types, and only what is of the library', async () => {
    const page = await open('/api/consume-once')
    expect(await page.locator('.vp-doc h2').first().innerText()).toMatch(/^Functions/)
    expect(await page.locator('.vp-doc').innerText()).not.toContain('captureStackTrace')
    await page.context().close()
  })

  it('has a text version of each page for programs', () => {
    expect(readFileSync('site/dist/llms.txt', 'utf8')).toContain('(/guarantees.md)')
    expect(readFileSync('site/dist/guarantees.md', 'utf8')).toContain('message lost?')
  })
})

/** For people to look at: `SITE_PICTURES=folder npm run lab -- lab/site`. */
async function picture(page: Page, path: string, look: string): Promise<void> {
  const folder = process.env['SITE_PICTURES']
  if (folder !== undefined)
    await page.screenshot({ path: join(folder, `site${path.replaceAll('/', '-')}-${look}.png`) })
}
