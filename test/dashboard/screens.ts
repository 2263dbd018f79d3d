import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { eventually } from '../kit/eventually.ts'
import type { Rig } from './rig.ts'

const MOST_BYTES = 180_000

/** A message ID that is text, on every page. */
export const HOSTILE = '<img src=x onerror=alert(1)>"\'&{{7*7}}'

/** Three parked messages, some given up, duplicates. */
export async function prepare(rig: Rig): Promise<void> {
  await rig.sendSms([
    ...Array.from({ length: 40 }, (_, at) => ({ id: `notification-${at}` })),
    { id: 'in-doubt-1', fate: 'unknown' },
    { id: 'in-doubt-2', fate: 'unknown' },
    { id: HOSTILE, fate: 'unknown' },
    { id: 'wrong-number', fate: 'fails' },
  ])
  await rig.sendEmails([{ id: 'mail-1' }, { id: 'mail-2', fate: 'fails' }, { id: 'mail-1' }])
  await eventually(async () => {
    const { parked, 'given-up': givenUp } = await rig.smsAdmin.stats()
    return parked.count === 3 && givenUp.count === 1
  })
  await rig.sendSms([{ id: 'notification-0' }])
  await rig.refuse(['mail-1-sent', HOSTILE])
}

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

/** Writes a picture of the screen into the folder SCREENSHOTS, if that is set. */
export async function look(page: Page, name: string): Promise<void> {
  const folder = process.env['SCREENSHOTS']
  if (folder === undefined || folder === '') return
  mkdirSync(folder, { recursive: true })
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true })
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
