import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildUi } from '../../../dashboard/build/ui.ts'

describe('the built pages of the dashboard', () => {
  const folder = mkdtempSync(join(tmpdir(), 'dashboard-ui-'))
  let names: readonly string[] = []

  beforeAll(async () => {
    names = await buildUi(folder)
  })

  afterAll(() => {
    rmSync(folder, { recursive: true })
  })

  it('have at most 180 kB of script', () => {
    const scripts = names.filter((name) => name.endsWith('.js'))
    expect(scripts).toHaveLength(1)
    const bytes = scripts.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
    expect(bytes).toBeLessThanOrEqual(180_000)
  })

  it('have no inline script, style or handler, which the content security policy refuses', () => {
    const page = readFileSync(join(folder, 'index.html'), 'utf8')
    expect(page).not.toMatch(/<script(?![^>]* src=)|<style|\sstyle=|\son[a-z]+=/i)
  })

  it('name files that are there, relative to the base path that the server fills in', () => {
    const page = readFileSync(join(folder, 'index.html'), 'utf8')
    expect(page).toContain('<base href="%CONSUME_ONCE_BASE%" />')
    const named = [...page.matchAll(/(?:src|href)="([^"%]+)"/g)].map(([, name]) => name)
    expect(new Set(named)).toEqual(new Set(names.filter((name) => name !== 'index.html')))
    expect(named.every((name) => /-[0-9a-f]{10}\./.test(name ?? ''))).toBe(true)
  })

  it('load nothing from another place', () => {
    for (const name of names)
      expect(readFileSync(join(folder, name), 'utf8')).not.toMatch(
        /url\(["']?https?:|import\(["']https?:|fetch\(["']https?:/,
      )
  })
})
