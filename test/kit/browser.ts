import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core'
import { buildUi } from '../../dashboard/build/ui.ts'
import { needChromium } from './servers/programs.ts'

/** How long a page may take to show something, on a machine that is busy. */
const SHOWN_WITHIN_MS = 20_000

/** A browser, and the pages of the dashboard as the package has them. */
export class DashboardBrowser implements AsyncDisposable {
  /** For the option `pages`. */
  readonly pages: string
  readonly #browser: Browser
  readonly #errors: string[] = []
  readonly #contexts: BrowserContext[] = []

  private constructor(browser: Browser, pages: string) {
    this.#browser = browser
    this.pages = pages
  }

  static async open(): Promise<DashboardBrowser> {
    const pages = mkdtempSync(join(tmpdir(), 'consume-once-pages-'))
    const [browser] = await Promise.all([
      chromium.launch({ executablePath: await needChromium(), chromiumSandbox: false }),
      buildUi(pages),
    ])
    return new DashboardBrowser(browser, pages)
  }

  async page({ width = 1280, height = 860, theme = 'light' }: PageOptions = {}): Promise<Page> {
    const context = await this.#browser.newContext({
      viewport: { width, height },
      colorScheme: theme,
      reducedMotion: 'reduce',
      locale: 'en-GB',
      timezoneId: 'UTC',
    })
    context.setDefaultTimeout(SHOWN_WITHIN_MS)
    this.#contexts.push(context)
    const page = await context.newPage()
    page.on('pageerror', (error) => this.#errors.push(error.message))
    page.on('console', (message) => {
      // A failed request is logged as well, which a page must bear. A request that the policy refuses is an error.
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) {
        this.#errors.push(message.text())
      }
    })
    page.on('dialog', (dialog) => {
      this.#errors.push(`a page ran a script that it was given: ${dialog.message()}`)
      void dialog.dismiss()
    })
    return page
  }

  /** Errors of scripts, what the content security policy refused, and dialogs, since the last call. */
  takeErrors(): readonly string[] {
    return this.#errors.splice(0)
  }

  async closePages(): Promise<void> {
    await Promise.all(this.#contexts.splice(0).map((context) => context.close()))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close()
    rmSync(this.pages, { recursive: true, force: true })
  }
}

export interface PageOptions {
  readonly width?: number
  readonly height?: number
  readonly theme?: 'light' | 'dark'
}

interface Violation {
  readonly id: string
  readonly impact: string | null
  readonly nodes: readonly { readonly html: string }[]
}

const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8')

/** Accessibility violations that axe finds on a page, with their elements: by all rules, or by those about colours. */
export async function violationsOf(page: Page, which: 'all' | 'colours' = 'all'): Promise<readonly string[]> {
  // By the debugger: the policy of the page refuses a script of others.
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(AXE)
  const run = which === 'all' ? 'axe.run()' : `axe.run({ runOnly: ['color-contrast'] })`
  const { violations } = await page.evaluate<{ readonly violations: readonly Violation[] }>(run)
  return violations.map(({ id, impact, nodes }) => `${id} (${impact}): ${nodes.map(({ html }) => html).join(' ')}`)
}
