import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { CLI_PAGE, cliPage } from './kit/cli-page.ts'

describe('the commands of the tool', () => {
  it('are listed in docs/cli.md, as `npm run options` writes it', () => {
    const page = cliPage()
    if (process.env['WRITE_OPTIONS'] !== undefined) writeFileSync(CLI_PAGE, page)
    expect(readFileSync(CLI_PAGE, 'utf8')).toBe(page)
  })

  it('are shown with what they take, and with their exit codes', () => {
    const page = cliPage()
    const [, inspect = ''] = /^### inspect\n\n```\n([\s\S]*?)```/m.exec(page) ?? []
    for (const text of ['Usage: consume-once inspect', '--dead-letters', 'Exit code 0']) expect(inspect).toContain(text)
    expect(page).toContain('### replay plan')
  })
})
