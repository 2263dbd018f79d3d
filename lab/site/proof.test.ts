// The page to play with, in a browser: it shows what the engine and its checker say.
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { chromium, type Browser, type Page } from 'playwright-core'
import { bundlePage } from '../../site/proof/build/bundle.ts'
import { CONTENDERS, type Contender } from '../../site/proof/engine/contenders.ts'
import { judgedOutcome } from '../../site/proof/engine/outcome.ts'
import { play } from '../../site/proof/engine/play.ts'
import { violationsOf } from '../../test/kit/browser.ts'
import { needChromium } from '../../test/kit/servers/programs.ts'
import { check } from '../../testing/index.ts'

jest.setTimeout(120_000)

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

const compared = (page: Page): Promise<void> =>
  page
    .locator('#compared tr')
    .nth(CONTENDERS.length - 1)
    .waitFor()
const text = (page: Page): Promise<string> => page.locator('#text').innerText()

async function judged(contender: Contender, seed: number): Promise<readonly string[]> {
  const { history, rules } = await play(seed, contender, turn)
  const { lost, doubled } = judgedOutcome(check(history, rules))
  return [String(lost.size), String(doubled.size)]
}

describe('the page to play with', () => {
  const folder = mkdtempSync(join(tmpdir(), 'consume-once-proof-'))
  let browser: Browser

  beforeAll(async () => {
    for (const file of ['index.html', 'proof.css']) copyFileSync(`site/proof/page/${file}`, join(folder, file))
    writeFileSync(join(folder, 'proof.js'), await bundlePage())
    browser = await chromium.launch({ executablePath: await needChromium(), chromiumSandbox: false })
  })

  afterAll(async () => {
    await browser?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  async function open(hash = '', options: { width?: number; theme?: 'light' | 'dark' } = {}): Promise<Page> {
    const context = await browser.newContext({
      viewport: { width: options.width ?? 1280, height: 900 },
      colorScheme: options.theme ?? 'light',
      reducedMotion: 'reduce',
    })
    const page = await context.newPage()
    await page.goto(`${pathToFileURL(join(folder, 'index.html')).href}${hash}`)
    await compared(page)
    return page
  }

  it('compares the six consumers as the checker judges them', async () => {
    for (const seed of [1, 2, 3, 4, 5]) {
      const page = await open(`#seed=${seed}`)
      for (const contender of CONTENDERS) {
        const cells = await page.locator(`[data-contender="${contender}"] td`).allInnerTexts()
        expect([seed, contender, ...cells.slice(0, 2)]).toEqual([seed, contender, ...(await judged(contender, seed))])
      }
      await page.context().close()
    }
  })

  it('finds a schedule in which the raw consumer has an effect twice, and shows that step', async () => {
    const page = await open()
    await page.getByRole('button', { name: 'Find a bad schedule' }).click()
    await page.getByText(/^Seed \d+: \d+ lost, \d+ doubled\.$/).waitFor()
    expect(await text(page)).toMatch(/for the second time/)
    await page.context().close()
  })

  it('finds none for the inbox', async () => {
    const page = await open('#seed=1&consumer=inbox')
    await page.getByRole('button', { name: 'Find a bad schedule' }).click()
    await page.getByText(/^No lost/).waitFor()
    expect(await page.locator('#found').innerText()).toBe('No lost and no doubled message in seeds 2 to 501.')
    await page.context().close()
  })

  it('steps by button, by key and by a letter of a life line, and plays', async () => {
    const page = await open('#seed=3&consumer=lease')
    const first = await text(page)
    await page.getByRole('button', { name: 'Step', exact: true }).click()
    const second = await text(page)
    expect(second).not.toBe(first)
    await page.getByRole('heading', { level: 1 }).click()
    await page.keyboard.press('ArrowLeft')
    expect(await text(page)).toBe(first)
    await page.locator('#lines button').last().click()
    expect(await text(page)).not.toBe(first)
    await page.getByLabel('Speed').selectOption('fast')
    await page.getByRole('button', { name: 'Play' }).click()
    await page.getByText(/^The end\./).waitFor()
    await page.context().close()
  })

  it('shows another consumer on the same seed when its name is chosen', async () => {
    const page = await open('#seed=3&consumer=raw&step=5')
    await page.getByRole('button', { name: 'consume-once, inbox' }).click()
    await page.waitForURL(/consumer=inbox/)
    await page.locator('#lines button').last().click()
    expect(await page.locator('#in-effects .bad').count()).toBe(0)
    await page.context().close()
  })

  it('is shared by a link: seed, consumer and step', async () => {
    const page = await open('#seed=3&consumer=lease&step=7')
    const shown = await text(page)
    const link = new URL(page.url()).hash
    const other = await open(link)
    expect(await text(other)).toBe(shown)
    expect(await other.getByLabel('Consumer').inputValue()).toBe('lease')
    await page.context().close()
    await other.context().close()
  })

  it('has less than 200 kB of script', async () => {
    expect((await bundlePage()).length).toBeLessThan(200_000)
  })

  it.each(['light', 'dark'] as const)('keeps nobody out, in %s colours', async (theme) => {
    const page = await open('#seed=3&consumer=raw&step=24', { theme })
    await picture(page, theme)
    expect(await violationsOf(page)).toEqual([])
    await page.context().close()
  })

  it('is no wider than a telephone', async () => {
    const page = await open('#seed=3&consumer=raw&step=24', { width: 390 })
    await picture(page, 'phone')
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)
    await page.context().close()
  })
})

/** For people to look at: `SITE_PICTURES=folder npm run lab -- lab/site`. */
async function picture(page: Page, look: string): Promise<void> {
  const folder = process.env['SITE_PICTURES']
  if (folder !== undefined) await page.screenshot({ path: join(folder, `proof-${look}.png`), fullPage: true })
}
