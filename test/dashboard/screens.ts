import { mkdirSync, statSync } from 'node:fs'
import type { Page } from 'playwright-core'

const MOST_BYTES = 150_000

/** Opens a screen, and waits for its title. */
export async function open(
  page: Page,
  url: string,
  path: readonly string[],
  query: Readonly<Record<string, string>> = {},
): Promise<void> {
  const words = new URLSearchParams(query).toString()
  const hash = `#/${path.map(encodeURIComponent).join('/')}${words === '' ? '' : `?${words}`}`
  await page.goto(url + hash)
  await page.getByRole('heading', { level: 1 }).waitFor()
}

/** Writes a picture for the docs, if that is asked for: UPDATE_DOCS=1. */
export async function picture(page: Page, name: string): Promise<void> {
  if (process.env['UPDATE_DOCS'] !== '1') return
  mkdirSync('docs/images', { recursive: true })
  const path = `docs/images/dashboard-${name}.png`
  // What was just done is not part of the picture.
  await page.locator('.toast').waitFor({ state: 'detached' })
  await page.screenshot({ path })
  const { size } = statSync(path)
  if (size > MOST_BYTES) throw new Error(`${path}: expected at most ${MOST_BYTES} bytes, got ${size}`)
}
