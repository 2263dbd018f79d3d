import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { inRun } from '../../test/kit/servers/test-run.ts'

const CREATE = `
  import { PGlite } from '@electric-sql/pglite'
  await (await PGlite.create(process.argv[1])).close()`

/**
 * Makes this folder a database of PGlite with nothing in it. Made once a run and copied: to make one takes five seconds of a
 * processor, a copy less than a tenth of one.
 */
export function copyEmptyPglite(to: string): void {
  const template = inRun('empty-pglite')
  if (!existsSync(template)) {
    const own = mkdtempSync(`${template}-`)
    const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', CREATE, own], {
      encoding: 'utf8',
    })
    if (status !== 0) throw new Error(`PGlite made no database: ${stderr}`)
    try {
      renameSync(own, template)
    } catch (error) {
      if (!existsSync(template)) throw error
      rmSync(own, { recursive: true })
    }
  }
  cpSync(template, to, { recursive: true })
}
